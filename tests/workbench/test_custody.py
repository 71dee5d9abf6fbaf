"""The custodian's pages: a changed spec, a release that needs its name typed, the ledger, the interview; and the attacker's dial."""

import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noisegate
from noisegate import Contribution, certainty
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.ledger import open_ledger
from noisegate.testing import make_world

from .conftest import PORT, TOKEN, Visitor, make_app

LEAKY = """\
# how it was done
name: leaky
population: riders
events: {source: taps.parquet, person: card}
dimensions:
  mode: {column: mode, values: [bus, ferry]}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  cells: [mode, stop]
  stops: [stop]
privacy:
  unit: event
  scale: 1.4      # as they did
  law: laplace
  zeros: keep
  suppress: {below: 12}
  margins: independent
  unsafe: true
budget: {epsilon: 10, delta: 1e-3}
"""


@pytest.fixture
def city(tmp_path):
    """A visitor for the custodian of a city with one leaky release."""
    own = tmp_path / "data" / "city"
    own.mkdir(parents=True)
    rng = np.random.default_rng(1)
    n = 900
    taps = {
        "card": rng.integers(0, 200, n),
        "mode": rng.choice(["bus", "ferry"], n, p=[0.9, 0.1]),
        "stop": rng.choice(list("ABCD"), n, p=[0.6, 0.3, 0.08, 0.02]),
    }
    pq.write_table(pa.table(taps), own / "taps.parquet")
    (own / "spec-leaky.yaml").write_text(LEAKY)
    ledger = tmp_path / "ledger.db"
    noisegate.release(
        own / "spec-leaky.yaml", out=tmp_path / "data" / "leaky", ledger=ledger, entropy=SeededNoise(seed=1)
    )
    app = make_app(
        tmp_path / "data",
        port=PORT,
        token=TOKEN,
        custodian=True,
        ledger=str(ledger),
        state=tmp_path / "state",
    )
    return Visitor(app)


def drafted(visitor, number, **asked):
    query = "&".join(f"{key}={value}" for key, value in asked.items())
    return visitor.page(f"/r/{number}/fix.json?{query}").json()


def test_a_finding_leads_to_a_changed_spec_that_keeps_what_somebody_wrote(city):
    number = city.cases()["leaky"]
    page = drafted(city, number, do="zeros,totals,person", max_cells="3", epsilon="1.5")
    assert {one["key"] for one in page["fixes"] if one["able"]} == {"zeros", "totals", "person"}
    assert page["draft"]["problem"] is None
    changed = [(one["sign"], one["text"].strip()) for one in page["draft"]["diff"] if one["sign"] in "+-"]
    assert ("-", "zeros: keep") in changed
    assert ("+", "zeros: perturb") in changed
    assert ("+", "margins: reconcile") in changed
    assert ("+", "unit: person") in changed
    assert ("+", "max_cells: 3") in changed
    assert ("+", "epsilon: 1.5") in changed
    assert ("-", "scale: 1.4      # as they did") in changed
    assert ("+", "unsafe: false") in changed
    assert {one["id"] for one in page["findings"]} & {"zeros-kept", "privacy-loss"}


def test_what_cannot_be_changed_so_is_one_sentence(city):
    number = city.cases()["leaky"]
    assert city.page(f"/r/{number}/fix.json?do=magic").status_code == 422
    assert city.page(f"/r/{number}/fix.json?do=person&epsilon=-1").status_code == 422
    wrong = drafted(city, number, do="person", max_cells="0.5")["draft"]["problem"]
    assert wrong is not None
    assert "max_cells" in wrong


def test_a_release_is_made_only_if_its_name_is_typed(city, tmp_path):
    number = city.cases()["leaky"]
    spec = drafted(city, number, do="zeros,totals")["spec"]
    asked = {"spec": spec, "do": "zeros,totals"}
    for wrong in ({}, {"confirm": "leaky"}, {"confirm": "leaky-fixed", "do": ""}):
        assert city.send("/publish", {**asked, **wrong}).status_code == 422
    assert not (tmp_path / "data" / "leaky-fixed").exists()
    begun = city.send("/publish", {**asked, "confirm": "leaky-fixed"})
    assert begun.status_code == 202
    ends = time.monotonic() + 30
    while city.get(f"/jobs/{begun.json()['job']['id']}.json").json()["job"]["standing"] != "done":
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert begun.json()["case"] in city.cases().values()
    card = json.loads((tmp_path / "data" / "leaky-fixed" / "release" / "card.json").read_text())
    assert card["name"] == "leaky-fixed"
    assert [one["choice"] for one in card["unsafe"]] == ["unit: event"]
    with open_ledger(tmp_path / "ledger.db", read_only=True) as book:
        assert [one.release for one in book.accounts()[0].reservations] == ["leaky", "leaky-fixed"]
    told = city.page("/ledger.json").json()["populations"][0]
    assert told["name"] == "riders"
    assert [one["release"] for one in told["releases"]] == ["leaky", "leaky-fixed"]
    assert str(tmp_path) not in json.dumps(told)


def test_a_release_that_the_budget_refuses_leaves_nothing(city, tmp_path):
    number = city.cases()["leaky"]
    spec = drafted(city, number, do="zeros,totals,person", epsilon="99")["spec"]
    begun = city.send(
        "/publish",
        {"spec": spec, "do": "person,zeros,totals", "max_cells": 3, "epsilon": 99, "confirm": "leaky-fixed"},
    ).json()
    job, ends = begun["job"], time.monotonic() + 30
    while job["standing"] in {"waiting", "running"}:
        assert time.monotonic() < ends
        time.sleep(0.05)
        job = city.get(f"/jobs/{job['id']}.json").json()["job"]
    assert job["standing"] == "failed"
    assert "the ledger holds" in job["error"]
    assert not (tmp_path / "data" / "leaky-fixed").exists()
    assert not (tmp_path / "data" / "city" / "spec-leaky-fixed.yaml").exists()


def test_the_interview_leaves_every_decision_to_people_and_reads_no_row(city, tmp_path):
    listed = {one["name"]: one["id"] for one in city.get("/interview.json").json()["events"]}
    number = listed["city/taps.parquet"]
    page = city.get(f"/interview/{number}.json").json()
    assert {"population", "unit", "max_cells", "epsilon"} <= {one["key"] for one in page["questions"]}
    assert page["text"].count("??") >= len(page["questions"])
    open_still = city.send(f"/interview/{number}/judge", {"text": page["text"]}).json()
    assert open_still["problem"] is not None
    text = LEAKY.replace("name: leaky", "name: sound").replace("zeros: keep", "zeros: perturb")
    assert city.send(f"/interview/{number}/judge", {"text": text}).json()["problem"] is None
    kept = city.send(f"/interview/{number}/keep", {"text": text})
    assert kept.json()["file"] == "spec-sound.yaml"
    assert (tmp_path / "data" / "city" / "spec-sound.yaml").read_text() == text
    assert city.send(f"/interview/{number}/keep", {"text": text}).status_code == 422
    outside = text.replace("name: sound", "name: ../../evil")
    assert city.send(f"/interview/{number}/keep", {"text": outside}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/ledger.json"),
        ("get", "/interview.json"),
        ("get", "/interview/x.json"),
        ("get", "/r/{number}/fix.json"),
        ("post", "/publish"),
        ("post", "/interview/x/keep"),
    ],
)
def test_without_the_custodian_there_is_none_of_it(bench, method, path):
    visitor, number = bench
    where = path.format(number=number)
    answer = visitor.get(where) if method == "get" else visitor.send(where, {})
    assert answer.status_code in {404, 405}


def test_the_dial_holds_for_every_release_and_survives_a_new_server(make_visitor, bench):
    visitor, number = bench
    assert visitor.page(f"/r/{number}/attacker.json").json()["sure"] is None
    try:
        assert visitor.send("/dial", {"known": 4}).status_code == 200
        page = visitor.page(f"/r/{number}/attacker.json").json()
        made = noisegate.Mechanism(law=noisegate.make_law("rounded-laplace", scale=1.4), zeros="perturb")
        exact = certainty([Contribution(mechanism=made, cells=12)])
        assert page["known"] == 4
        assert page["sure"]["baseline"] == 0.5
        assert page["sure"]["low"] - 1e-3 <= exact.upper
        assert exact.lower <= page["sure"]["high"] + 1e-3
        weeks = visitor.page(f"/r/{number}/weeks.json").json()
        assert weeks["trips"] == 4
        assert weeks["sure"][0]["high"] == pytest.approx(page["sure"]["high"])
        assert all(a["high"] <= b["high"] for a, b in zip(weeks["sure"], weeks["sure"][1:], strict=False))
        assert len(weeks["weeks"]["detection"][0]["by_week"]) == 52
    finally:
        visitor.send("/dial", {"known": 0})
    for wrong in ({"known": -1}, {"known": True}, {"known": "x"}, {"timetable": 1}, {"timetable": True}):
        assert visitor.send("/dial", wrong).status_code == 422
    one = make_visitor()
    assert one.send("/dial", {"known": 10}).status_code == 200
    assert make_visitor().get("/start.json").json()["dial"] == {"timetable": False, "known": 10}


def test_a_rival_law_is_weighed_beside_the_fitted_one(make_visitor, tmp_path):
    folder = tmp_path / "tables" / "full"
    folder.mkdir(parents=True)
    make_world(
        {"age": 10, "area": 20},
        margins={"by area": ["area"], "by age": ["age"]},
        mechanism=noisegate.Mechanism(law=DiscreteLaplace(1.4), zeros="perturb"),
        rng=np.random.default_rng(3),
    ).write(folder)
    visitor = make_visitor()
    number = visitor.cases()["full"]
    table = next(
        one for one in visitor.page(f"/r/{number}/noise.json").json()["tables"] if one["noise"]["curve"]
    )
    laws = sorted(table["noise"]["evidence"]["laws"])
    found = visitor.page(f"/r/{number}/rival.json?table={table['name']}&law={laws[0]}").json()
    assert len(found["scales"]) == len(found["log_likelihood"]) == len(found["expected"])
    assert all(len(one) == len(table["noise"]["curve"]["difference"]) for one in found["expected"])
    for wrong in ("table=x&law=laplace", f"table={table['name']}&law=cauchy"):
        assert visitor.page(f"/r/{number}/rival.json?{wrong}").status_code == 422


def test_draws_are_truths_that_fit(city):
    number = city.cases()["leaky"]
    where = json.dumps({"mode": ["bus"]})
    found = city.page(f"/r/{number}/draws.json?where={where}").json()
    told = city.page(f"/r/{number}/answer.json?where={where}").json()["rows"][0]
    assert len(found["values"]) == 60
    assert all(isinstance(one, int) for one in found["values"])
    inside = [told["low"] <= one <= told["high"] for one in found["values"]]
    assert np.mean(inside) > 0.75
    to = json.dumps({"mode": ["ferry"]})
    less = city.page(f"/r/{number}/draws.json?where={where}&form=difference&to={to}").json()["values"]
    assert np.mean(less) < np.mean(found["values"])
    assert city.page(f"/r/{number}/draws.json?where=[1]").status_code == 422
