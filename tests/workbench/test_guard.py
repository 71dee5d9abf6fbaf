"""Nobody but this computer's own pages with the token gets an answer, and no page can fetch from elsewhere."""

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from .conftest import ORIGIN, PORT, TOKEN


@pytest.fixture
def anybody(make_visitor):
    visitor = make_visitor()
    return TestClient(visitor.client.app, base_url=ORIGIN, follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/start.json", "/assets/workbench.js", "/r/x/files.json", "/nowhere"])
def test_without_the_token_there_is_nothing(anybody, path):
    answer = anybody.get(path)
    assert answer.status_code == 403
    assert "noisegate serve" in answer.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN[:-1], "ключ"])
def test_a_wrong_token_is_no_token(anybody, token):
    assert anybody.get("/", params={"token": token}).status_code == 403
    assert anybody.get("/", headers={"authorization": f"Bearer {token}".encode()}).status_code == 403


def test_the_token_leaves_the_address_and_stays_in_a_cookie_that_no_script_reads(anybody):
    answer = anybody.get("/r/x/files", params={"token": TOKEN, "a": "1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/r/x/files?a=1")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert anybody.get("/start.json").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_for_this_host_is_refused(anybody, host):
    answer = anybody.get("/start.json", headers={"host": host, "authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused_even_with_the_cookie(anybody, origin, method):
    anybody.get("/", params={"token": TOKEN})
    answer = anybody.request(method, "/start.json", headers={"origin": origin})
    assert answer.status_code == 403


def test_what_changes_something_must_say_that_it_comes_from_a_page_of_ours(anybody):
    anybody.get("/", params={"token": TOKEN})
    assert anybody.post("/uploads").status_code == 403
    assert anybody.post("/uploads", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert anybody.post("/uploads", headers={"origin": ORIGIN}).status_code == 422


@pytest.mark.parametrize("path", ["/", "/start.json", "/assets/workbench.js", "/nowhere", "/r/x/files.json"])
def test_every_answer_carries_the_rules_for_browsers(make_visitor, path):
    headers = make_visitor().get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_nothing_on_disk_but_the_pages_can_be_asked_for(make_visitor, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    visitor = make_visitor()
    for path in (
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2f..%2f__init__.py",
        "//etc/passwd",
    ):
        answer = visitor.get(path)
        assert answer.status_code in {403, 404, 421}
        assert "import" not in answer.text


def test_the_pages_fetch_nothing_from_elsewhere(make_visitor):
    visitor = make_visitor()
    page = visitor.get("/").text
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "<script>" not in page
    assert "<style" not in page


def test_a_websocket_is_not_answered(make_visitor):
    visitor = make_visitor()
    with pytest.raises(WebSocketDisconnect) as refused, visitor.client.websocket_connect("/"):
        pass
    assert refused.value.code == 1008
