"""A bench over a small world whose hidden cells can be worked out, and one to which a hostile file was dropped."""

import time
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world
from noisegate.workbench import make_app

PORT, TOKEN = 8765, "a-token-that-nobody-guesses"
ORIGIN = f"http://127.0.0.1:{PORT}"


def write_world(folder: Path) -> None:
    folder.mkdir(parents=True)
    world = make_world(
        {"sex": 2, "age": 8, "area": 20},
        margins={"by area": ["area"], "by sex and age": ["sex", "age"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb"),
        rng=np.random.default_rng(1),
    )
    world.write(folder)


class Visitor:
    """A person with the token, who waits for work to be over."""

    def __init__(self, app):
        self.client = TestClient(app, base_url=ORIGIN, raise_server_exceptions=False)
        self.bearer = {"authorization": f"Bearer {TOKEN}"}

    def get(self, path, **options):
        return self.client.get(path, headers=self.bearer, **options)

    def send(self, path, content):
        return self.client.post(path, headers=self.bearer, json=content)

    def page(self, path, seconds=60):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            answer = self.get(path)
            if answer.status_code != 202:
                return answer
            time.sleep(0.05)
        raise AssertionError(f"{path} takes too long")

    def cases(self):
        return {one["name"]: one["id"] for one in self.get("/start.json").json()["cases"]}


@pytest.fixture
def make_visitor(tmp_path):
    def make(root=None, *, custodian=False, state=None):
        place = root if root is not None else tmp_path / "tables"
        place.mkdir(parents=True, exist_ok=True)
        return Visitor(
            make_app(place, port=PORT, token=TOKEN, custodian=custodian, state=state or tmp_path / "state")
        )

    return make


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """A visitor of a world that has been taken apart, and the id of the case."""
    top = tmp_path_factory.mktemp("bench")
    write_world(top / "data" / "towns")
    visitor = Visitor(make_app(top / "data", port=PORT, token=TOKEN, state=top / "state"))
    number = visitor.cases()["towns"]
    assert visitor.send(f"/r/{number}/attack", {"noise": "laplace:1.4"}).status_code == 200
    assert visitor.page(f"/r/{number}/files.json").status_code == 200
    return visitor, number
