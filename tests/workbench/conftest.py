"""A bench over a small world whose hidden cells can be worked out, and one to which a hostile file was dropped."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import noisegate
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world
from noisegate.workbench import make_app

PORT, TOKEN = 8765, "a-token-that-nobody-guesses"
ORIGIN = f"http://127.0.0.1:{PORT}"

TABLES = """\
events: {source: taps.parquet, person: card}
dimensions:
  mode: {column: mode, values: [bus, ferry, train]}
  hour: {column: hour, values: [early, peak, late]}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  cells: [mode, hour, stop]
  stops: [mode, stop]
"""
SPEC = f"""\
name: week
{TABLES}privacy: {{unit: event, epsilon: 2.0, law: discrete-laplace, suppress: {{below: 12}}, margins: reconcile}}
workload:
  morning-peak: {{where: {{hour: [peak]}}, by: [mode]}}
  all: {{}}
"""


#: As in 2016: empty cells stay empty, and every table has noise of its own.
LEAKY = f"""\
name: leaky
population: riders
{TABLES}privacy:
  unit: event
  scale: 1.4                     # as they did
  law: laplace
  zeros: keep
  suppress: {{below: 18}}
  margins: independent
  unsafe: true
budget: {{epsilon: 10, delta: 1e-4}}
"""


def write_world(folder: Path) -> None:
    folder.mkdir(parents=True)
    world = make_world(
        {"sex": 2, "age": 8, "area": 20},
        margins={"by area": ["area"], "by sex and age": ["sex", "age"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb"),
        rng=np.random.default_rng(1),
    )
    world.write(folder)


def write_releases(data: Path) -> None:
    """A careful release and a leaky one of the same events, the events and both specs beside them."""
    rng = np.random.default_rng(5)
    n = 4000
    taps = pa.table(
        {
            "card": rng.integers(0, 900, n),
            "mode": rng.choice(["bus", "ferry", "train"], n, p=[0.5, 0.1, 0.4]),
            "hour": rng.choice(["early", "peak", "late"], n, p=[0.1, 0.6, 0.3]),
            "stop": rng.choice(list("ABCD"), n, p=[0.6, 0.25, 0.1, 0.05]),
        }
    )
    own = data / "custodian"
    own.mkdir()
    pq.write_table(taps, own / "taps.parquet")
    (own / "spec.yaml").write_text(SPEC)
    noisegate.release(
        own / "spec.yaml", out=data / "week", ledger=data.parent / "ledger.db", entropy=SeededNoise(seed=1)
    )
    (own / "spec-leaky.yaml").write_text(LEAKY)
    noisegate.release(own / "spec-leaky.yaml", out=data / "leaky", ledger=data.parent / "ledger.db")


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
