"""What the pages say: each has a twin in JSON, errors have an id and no secrets, and what is saved stays saved."""

import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noisegate
from noisegate import limits
from noisegate.laws import SeededNoise
from noisegate.places import MARK, MARK_KEY

from .conftest import write_releases, write_world


@pytest.mark.parametrize("page", ["files", "noise", "microscope", "findings"])
def test_every_page_has_a_twin(bench, page):
    visitor, number = bench
    assert '<div id="app">' in visitor.get(f"/r/{number}/{page}").text
    twin = visitor.get(f"/r/{number}/{page}.json")
    assert twin.status_code == 200
    assert twin.json()["case"]["name"] == "towns"


def test_files_say_how_each_was_read_and_what_is_known_of_the_cells(bench):
    visitor, number = bench
    page = visitor.get(f"/r/{number}/files.json").json()
    assert [table["role"] for table in page["tables"]] == ["base", "margin", "margin"]
    assert sum(page["states"].values()) == 2 * 8 * 20
    assert page["states"]["published"] == page["tables"][0]["rows"]


def test_a_map_has_every_cell_once(bench):
    visitor, number = bench
    page = visitor.get(f"/r/{number}/microscope.json?rows=area&columns=age&at.sex=sex+1").json()
    cells = _unpacked(page, "cell")
    assert len(page["rows"]) == 20
    assert len(page["columns"]) == 8
    assert len(set(cells.tolist())) == 160
    assert sum(page["counts"].values()) == 160
    assert (_unpacked(page, "high") >= _unpacked(page, "low")).all()


def test_a_published_pixel_shows_what_was_published(bench):
    visitor, number = bench
    page = visitor.get(f"/r/{number}/microscope.json").json()
    state, shown = _unpacked(page, "state"), _unpacked(page, "shown")
    assert ((shown >= 0) == (state == 6)).all()
    assert shown[state == 6].min() >= 10


def test_a_close_look_names_its_witnesses_and_what_is_left_without_each(bench):
    visitor, number = bench
    page = visitor.get(f"/r/{number}/microscope.json").json()
    hole = int(_unpacked(page, "cell")[_unpacked(page, "state") == 2][0])
    look = visitor.get(f"/r/{number}/cell.json?cell={hole}").json()
    assert {one["name"] for one in look["witnesses"]} == {"by area", "by sex and age"}
    for one in look["witnesses"]:
        gone = json.dumps([one["name"]])
        without = visitor.get(f"/r/{number}/cell.json", params={"cell": hole, "without": gone}).json()
        assert without["law"] == one["otherwise"]
        assert without["left_out"] == [one["name"]]
    both = json.dumps(["by area", "by sex and age"])
    alone = visitor.get(f"/r/{number}/cell.json", params={"cell": hole, "without": both}).json()
    assert alone["law"] == look["alone"]


@pytest.mark.parametrize(
    "query",
    ["", "?cell=", "?cell=-1", "?cell=1e3", "?cell=99999", "?cell=0&without=[1]", "?cell=0&without=%7B"],
)
def test_a_cell_that_is_not_there_is_one_sentence(bench, query):
    visitor, number = bench
    answer = visitor.get(f"/r/{number}/cell.json{query}")
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "id"}


def test_an_unforeseen_error_shows_an_id_and_none_of_its_text(bench, monkeypatch, caplog):
    visitor, number = bench
    from noisegate.workbench.desk import Opened

    def fail(*_):
        raise RuntimeError("card 4711 tapped at noon")

    monkeypatch.setattr(Opened, "look", fail)
    answer = visitor.get(f"/r/{number}/cell.json?cell=0")
    assert answer.status_code == 500
    assert "4711" not in answer.text
    assert "RuntimeError" not in answer.text
    assert answer.json()["id"] in caplog.text


def test_decisions_are_those_of_a_spec_and_change_the_reading(make_visitor, tmp_path):
    write_world(tmp_path / "data" / "towns")
    visitor = make_visitor(tmp_path / "data")
    number = visitor.cases()["towns"]
    wrong = visitor.send(f"/r/{number}/decisions", {"decisions": "tables: {base.csv: {kount: n}}"})
    assert wrong.status_code == 422
    assert "kount" in wrong.json()["error"]
    assert visitor.send(
        f"/r/{number}/decisions", {"decisions": "tables: {base.csv: {dimensions: {age: {as: years}}}}"}
    ).json() == {"saved": True}
    page = visitor.page(f"/r/{number}/files.json").json()
    assert "error" in page or "years" in page["tables"][0]["dimensions"]
    assert visitor.send(f"/r/{number}/decisions", {"decisions": ""}).status_code == 200


def test_what_people_say_survives_a_new_server(make_visitor, tmp_path):
    write_world(tmp_path / "data" / "towns")
    first = make_visitor(tmp_path / "data")
    number = first.cases()["towns"]
    said = {"finding": "small-cells", "verdict": "accepted", "comment": "<b>true</b>", "by": "Ada"}
    assert first.send(f"/r/{number}/remarks", said).status_code == 200
    assert first.send(f"/r/{number}/sign", {"by": "Ada"}).status_code == 200
    second = make_visitor(tmp_path / "data")
    page = second.page(f"/r/{number}/findings.json").json()
    assert page["remarks"]["small-cells"]["comment"] == "<b>true</b>"
    assert page["signed_by"] == "Ada"
    second.send(f"/r/{number}/remarks", {**said, "verdict": "rejected"})
    assert second.page(f"/r/{number}/findings.json").json()["signed_by"] == ""


def test_a_saved_session_is_private_and_whole(make_visitor, tmp_path):
    write_world(tmp_path / "data" / "towns")
    visitor = make_visitor(tmp_path / "data")
    number = visitor.cases()["towns"]
    visitor.send(f"/r/{number}/sign", {"by": "Ada"})
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert [one.name for one in (tmp_path / "state").iterdir() if "partial" in one.name] == []
    (tmp_path / "state" / "notes.json").write_text("{")
    with pytest.raises(Exception, match="cannot be read; move it away"):
        make_visitor(tmp_path / "data")


@pytest.mark.parametrize(
    "content", [{"verdict": "maybe"}, {"verdict": 3}, {"comment": "x" * 5000}, {"by": ["a"]}]
)
def test_remarks_that_make_no_sense_are_refused(bench, content):
    visitor, number = bench
    assert visitor.send(f"/r/{number}/remarks", {"finding": "a", **content}).status_code == 422


def test_files_that_are_dropped_become_a_case_in_a_private_place(make_visitor, tmp_path):
    visitor = make_visitor()
    hostile = "../../<img src=x onerror=alert(1)>.csv"
    table = b"town,count\n<script>alert(1)</script>,12\n=cmd|' /C calc'!A0,30\n"
    answer = visitor.client.post(
        "/uploads", headers=visitor.bearer, files=[("files", (hostile, table, "text/csv"))]
    )
    assert answer.status_code == 201
    case = answer.json()["case"]
    assert "/" not in case["name"]
    assert "<" not in case["name"]
    place = tmp_path / "state" / "uploads" / case["id"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert [stat.S_IMODE(one.stat().st_mode) for one in place.iterdir()] == [0o600]
    page = visitor.page(f"/r/{case['id']}/files.json")
    assert page.headers["content-type"].startswith("application/json")
    assert str(tmp_path) not in page.text
    assert visitor.send(f"/r/{case['id']}/discard", {}).status_code == 200
    assert not place.exists()
    assert visitor.cases() == {}


def test_what_is_no_table_is_refused_and_leaves_nothing(make_visitor, tmp_path):
    visitor = make_visitor()
    answer = visitor.client.post(
        "/uploads", headers=visitor.bearer, files=[("files", ("a.exe", b"MZ", "x/y"))]
    )
    assert answer.status_code == 422
    assert list((tmp_path / "state" / "uploads").iterdir()) == []
    assert [one for one in (tmp_path / "state").iterdir() if one.name.startswith("incoming")] == []


def test_a_file_that_cannot_be_read_is_one_sentence_without_our_paths(make_visitor, tmp_path):
    visitor = make_visitor()
    answer = visitor.client.post(
        "/uploads", headers=visitor.bearer, files=[("files", ("a.csv", b"\x00\xff\x00", "x/y"))]
    )
    page = visitor.page(f"/r/{answer.json()['case']['id']}/files.json")
    assert page.status_code == 422
    assert page.json()["error"]
    assert str(tmp_path) not in page.text


def test_uploads_are_bounded_in_bytes_and_in_number(make_visitor):
    visitor = make_visitor()
    with limits.override(upload_bytes=1000):
        big = visitor.client.post(
            "/uploads", headers=visitor.bearer, files=[("files", ("a.csv", b"x" * (3 << 20), "text/csv"))]
        )
    assert big.status_code == 413
    with limits.override(upload_files=2):
        many = visitor.client.post(
            "/uploads",
            headers=visitor.bearer,
            files=[("files", (f"{k}.csv", b"a,count\nx,1\n", "x/y")) for k in range(3)],
        )
    assert many.status_code == 400


def test_kept_pages_are_one_file_with_everything_inside(bench):
    visitor, number = bench
    visitor.send(f"/r/{number}/remarks", {"finding": "x", "comment": "</script><img src=x onerror=alert(1)>"})
    assert visitor.page(f"/r/{number}/kept.json").json() == {"ready": True}
    answer = visitor.get(f"/r/{number}/kept.html")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    text = answer.text
    assert text.count("</script>") == 2
    assert "onerror=alert(1)>" not in text
    assert "url(/" not in text
    assert "url(." not in text
    data = json.loads(text.split('id="noisegate-kept">', 1)[1].split("</script>", 1)[0])
    assert set(data["pages"]) == {
        "/start.json",
        *(f"/r/{number}/{one}.json" for one in ("files", "noise", "findings", "weeks", "attacker")),
    }
    first = data["maps"][0]["first"]
    served = visitor.get(f"/r/{number}/cell.json?cell={first}").json()
    assert data["looks"][f"{first}|"] == {key: served[key] for key in data["looks"][f"{first}|"]}
    without = data["looks"][f"{first}|by area"]
    assert without["left_out"] == ["by area"]


def test_many_at_once_get_answers_and_leave_nothing_behind(bench):
    """Eight people click at random, some of it nonsense: no fault of ours, and what is kept stays bounded."""
    visitor, number = bench

    def click(seed):
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(30):
            cell, page = int(rng.integers(-3, 330)), rng.choice(["files", "noise", "findings", "microscope"])
            without = rng.choice(["[]", '["by area"]', '["by area", "by sex and age"]', '["x"]', "{"])
            paths = (
                f"/r/{number}/{page}.json",
                f"/r/{number}/cell.json?cell={cell}&without={without}",
                f"/r/{number}/microscope.json?rows={rng.choice(['area', 'age', 'sex', 'x'])}&cell={cell}",
                f"/jobs/{seed}.json",
            )
            found.append(visitor.get(str(rng.choice(paths))).status_code)
        return found

    with limits.override(close_looks=4), ThreadPoolExecutor(8) as pool:
        seen = {status for one in pool.map(click, range(8)) for status in one}
    assert seen <= {200, 202, 404, 422}
    assert 200 in seen


def test_a_directory_of_the_custodian_is_not_looked_at(make_visitor, tmp_path):
    city = tmp_path / "data" / "city"
    city.mkdir(parents=True)
    (city / "spec.yaml").write_text("name: week\n")
    (city / "taps.csv").write_text("card,stop\n1,a\n")
    assert make_visitor(tmp_path / "data").cases() == {}


def test_what_is_for_the_custodian_only_is_neither_listed_nor_taken(make_visitor, tmp_path):
    """Files that `assess --truth` made carry a mark; beside others they are left out."""
    rows = pa.table({"area": ["a", "b"], "count": [51, 52]})
    for place in ("marked", "mixed"):
        (tmp_path / "data" / place).mkdir(parents=True)
        pq.write_table(
            rows.replace_schema_metadata({MARK_KEY: MARK}), tmp_path / "data" / place / "cells.parquet"
        )
    (tmp_path / "data" / "mixed" / "shown.csv").write_text("area,count\na,51\nb,52\n")
    visitor = make_visitor(tmp_path / "data")
    assert list(visitor.cases()) == ["mixed"]
    (case,) = visitor.get("/start.json").json()["cases"]
    assert "cells" not in json.dumps(case)
    octets = (tmp_path / "data" / "marked" / "cells.parquet").read_bytes()
    answer = visitor.client.post(
        "/uploads", headers=visitor.bearer, files=[("files", ("cells.parquet", octets, "x/y"))]
    )
    assert answer.status_code == 422
    assert "cells.parquet is marked 'for the custodian only'" in answer.text
    assert list((tmp_path / "state" / "uploads").iterdir()) == []


def _unpacked(page, name):
    """The numbers of all pixels: packed in one, two or four bytes, or told as rows that step."""
    import base64

    told, size = page["cells"][name], len(page["rows"]) * len(page["columns"])
    if isinstance(told, dict):
        return np.add.outer(told["rows"], told["step"] * np.arange(len(page["columns"]))).ravel()
    octets = base64.b64decode(told)
    return np.frombuffer(octets, {1: "|i1", 2: "<i2", 4: "<i4"}[len(octets) // size]).astype(np.int64)


def test_the_custodians_pages_are_there_only_for_the_custodian(make_visitor, tmp_path):
    city = tmp_path / "data" / "city"
    city.mkdir(parents=True)
    (city / "spec.yaml").write_text(SPEC)
    outsider = make_visitor(tmp_path / "data")
    assert outsider.get("/price").status_code == 404
    assert outsider.get("/price.json").status_code == 404
    assert outsider.get("/start.json").json()["custodian"] is False
    custodian = make_visitor(tmp_path / "data", custodian=True)
    (number,) = [one["id"] for one in custodian.get("/price.json").json()["specs"]]
    page = custodian.page(f"/price/{number}.json").json()
    assert [one["name"] for one in page["questions"]] == [
        "one-row-of-cells",
        "one-row-of-stops",
        "all-together",
    ]
    for one in page["questions"]:
        errors = [error for _, error in one["curve"]]
        assert errors == sorted(errors, reverse=True)
    tap, commuter = custodian.page(f"/price/{number}/attacks.json").json()["sure"]
    assert (tap["whose"], len(tap["points"])) == ("one event", 8)
    stated = {one["whose"]: one["right"] for one in page["attacker"]}
    for one in (tap, commuter):
        rights = dict(map(tuple, one["points"]))
        assert all(0.5 <= right <= 1 for right in rights.values())
        assert rights[2.0] == pytest.approx(stated[one["whose"]])
    assert custodian.get("/price/none.json").status_code == 422


def test_answers_of_a_release_are_those_of_a_query(make_visitor, tmp_path):
    city = tmp_path / "data" / "city"
    city.mkdir(parents=True)
    (city / "spec.yaml").write_text(SPEC)
    rng = np.random.default_rng(5)
    taps = {
        "card": rng.integers(0, 300, 1500),
        "mode": rng.choice(["bus", "ferry"], 1500, p=[0.8, 0.2]),
        "stop": rng.choice(list("ABC"), 1500, p=[0.7, 0.25, 0.05]),
    }
    import pyarrow.parquet as pq

    pq.write_table(pa.table(taps), city / "taps.parquet")
    release = noisegate.release(
        city / "spec.yaml",
        out=tmp_path / "data" / "week",
        ledger=tmp_path / "l.db",
        entropy=SeededNoise(seed=1),
    )
    visitor = make_visitor(tmp_path / "data")
    number = visitor.cases()["week"]
    assert {one["name"] for one in visitor.page(f"/r/{number}/ask.json").json()["dimensions"]} == {
        "mode",
        "stop",
    }
    found = visitor.page(f"/r/{number}/answer.json?by=mode").json()["rows"]
    assert found == release.answer(by="mode").to_rows()
    asked = {"form": "difference", "where": '{"mode": ["bus"]}', "to": '{"mode": ["ferry"]}'}
    query = "&".join(f"{key}={value}" for key, value in asked.items())
    more = visitor.page(f"/r/{number}/answer.json?{query}").json()["rows"]
    assert more == release.compare(where={"mode": ["bus"]}, to={"mode": ["ferry"]}).to_rows()
    for wrong in ("form=sum", "where=[1]", "level=2.0", "level=x", "by=nothing", 'where={"mode": ["tram"]}'):
        assert visitor.page(f"/r/{number}/answer.json?{wrong}").status_code == 422


SPEC = """\
name: week
events: {source: taps.parquet, person: card}
dimensions:
  mode: {column: mode, values: [bus, ferry]}
  stop: {column: stop, values: [A, B, C]}
tables:
  cells: [mode, stop]
  stops: [stop]
privacy: {unit: event, epsilon: 2.0, law: discrete-laplace, suppress: {below: 12}, margins: reconcile}
"""


def test_two_releases_beside_each_other_have_a_twin(make_visitor, tmp_path):
    for name in ("one", "two"):
        write_world(tmp_path / "pair" / name)
    visitor = make_visitor(tmp_path / "pair")
    cases = visitor.cases()
    for number in cases.values():
        assert visitor.send(f"/r/{number}/attack", {"noise": "laplace:1.4"}).status_code == 200
    page = visitor.page(f"/r/{cases['one']}/compare.json?with={cases['two']}").json()
    assert (page["before"]["case"]["name"], page["after"]["case"]["name"]) == ("one", "two")
    assert page["gone"] == page["new"] == []
    assert visitor.get(page["after"]["map"]).status_code == 200
    assert visitor.get(f"/r/{cases['one']}/compare.json?with=nothing").status_code == 422


def test_the_report_has_what_people_said(make_visitor, tmp_path):
    write_world(tmp_path / "tables" / "towns")
    visitor = make_visitor()
    number = visitor.cases()["towns"]
    visitor.send(f"/r/{number}/attack", {"noise": "laplace:1.4"})
    found = visitor.page(f"/r/{number}/findings.json").json()["findings"]
    said = {"finding": found[0]["key"], "verdict": "rejected", "comment": "seen <b>twice</b>", "by": "Ada"}
    visitor.send(f"/r/{number}/remarks", said)
    visitor.send(f"/r/{number}/sign", {"by": "Grace"})
    assert visitor.page(f"/r/{number}/report.json").status_code == 200
    text = visitor.get(f"/r/{number}/report.html").text
    assert "Rejected by Ada" in text
    assert "seen &lt;b&gt;twice&lt;/b&gt;" in text
    assert "Signed by Grace" in text
    # What is said later is in the next report.
    visitor.send(f"/r/{number}/remarks", {**said, "comment": "changed my mind"})
    assert visitor.page(f"/r/{number}/report.json").status_code == 200
    text = visitor.get(f"/r/{number}/report.html").text
    assert "changed my mind" in text
    assert "Signed by Grace" not in text


def test_what_was_discarded_is_forgotten_also_on_disk(make_visitor, tmp_path):
    visitor = make_visitor()
    answer = visitor.client.post(
        "/uploads", headers=visitor.bearer, files=[("files", ("a.csv", b"a,count\nx,3\ny,4\n"))]
    )
    number = answer.json()["case"]["id"]
    visitor.send(f"/r/{number}/remarks", {"finding": "x", "verdict": "accepted", "comment": "secret words"})
    assert "secret words" in (tmp_path / "state" / "notes.json").read_text()
    assert visitor.send(f"/r/{number}/discard", {}).status_code == 200
    assert "secret words" not in (tmp_path / "state" / "notes.json").read_text()


def test_only_so_many_sets_of_dropped_files_are_kept(make_visitor):
    visitor = make_visitor()
    files = [("files", ("a.csv", b"a,count\nx,3\n"))]
    with limits.override(kept_uploads=2):
        statuses = [
            visitor.client.post("/uploads", headers=visitor.bearer, files=files).status_code for _ in range(3)
        ]
        assert statuses == [201, 201, 422]
        number = visitor.get("/start.json").json()["cases"][0]["id"]
        visitor.send(f"/r/{number}/discard", {})
        assert visitor.client.post("/uploads", headers=visitor.bearer, files=files).status_code == 201


def test_the_first_release_is_begun_while_the_start_page_is_read(make_visitor, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write_releases(data)
    visitor = make_visitor(data)
    first = next(one for one in visitor.get("/start.json").json()["cases"] if one["card"])
    assert not first["open"]
    ends = time.monotonic() + 60
    while not first["open"] and time.monotonic() < ends:
        time.sleep(0.1)
        first = next(one for one in visitor.get("/start.json").json()["cases"] if one["id"] == first["id"])
    assert first["open"]
    others = [one for one in visitor.get("/start.json").json()["cases"] if one["id"] != first["id"]]
    assert not any(one["open"] for one in others)


@pytest.mark.parametrize("cell", ["x", "-3", "1e9", "999999999999", "²"])
def test_a_map_around_a_cell_that_is_none_is_the_map_that_opens_first(bench, cell):
    visitor, number = bench
    answer = visitor.get(f"/r/{number}/microscope.json", params={"cell": cell, "rows": "area"})
    assert answer.status_code == 200
    assert answer.json()["view"] == visitor.get(f"/r/{number}/microscope.json?rows=area").json()["view"]
