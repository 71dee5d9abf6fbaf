"""The keys and types of all JSON that is written, in their order; not the values."""

import json

import pytest
import yaml


@pytest.fixture
def written(told, tree_of):
    """The key tree of what a command writes with `--json`."""
    return lambda *arguments: tree_of(told(*arguments).content)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kept", ("--law", "laplace", "--threshold", 18)),
        ("perturbed", ("--law", "discrete-laplace", "--zeros", "perturb", "--rounding", "nearest")),
        ("gaussian", ("--law", "discrete-gaussian", "--scale", 3, "--zeros", "perturb")),
    ],
)
def test_mechanism(hold, written, name, options):
    hold(f"trees/mechanism-{name}", written("mechanism", *options))


def test_reproduce(hold, written):
    hold("trees/reproduce", written("reproduce"))


def test_simulate(hold, tree_of, city):
    hold("trees/simulate", tree_of(city.result))


@pytest.mark.parametrize("name", ["spec", "spec-2016"])
def test_specs_of_a_simulation(hold, tree_of, city, name):
    hold(f"trees/simulate-{name}", tree_of(yaml.safe_load((city.world / f"{name}.yaml").read_text())))


@pytest.mark.parametrize(
    "shape", ["event-independent", "person-day-reconcile", "person-gaussian", "person-day-merged"]
)
def test_release(hold, tree_of, town, shape):
    hold(f"trees/release-{shape}", tree_of(town.released(shape).result))


@pytest.mark.parametrize(
    "shape",
    [
        "event-independent",
        "event-derive",
        "person-day-reconcile",
        "person-gaussian",
        "person-day-merged",
        "person-day-nested",
    ],
)
def test_card(hold, tree_of, town, shape):
    card = json.loads((town.released(shape).folder / "card.json").read_text())
    hold(f"trees/card-{shape}", tree_of(card))


@pytest.mark.parametrize("like", [False, True])
def test_plan(hold, written, town, like):
    made = town.released("person-day-reconcile")
    more = ("--like", made.folder) if like else ("--error", 10)
    hold(f"trees/plan{'-like' if like else ''}", written("release", made.spec, "--plan", *more))


def test_measured_utility(hold, tree_of, run, town, tmp_path):
    spec, file = town.released("person-day-reconcile").spec, tmp_path / "utility.json"
    run(
        "release",
        spec,
        "--out",
        tmp_path / "out",
        "--ledger",
        tmp_path / "l.sqlite",
        "--utility",
        file,
        seed=17,
    )
    hold("trees/utility", tree_of(json.loads(file.read_text())))


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("all", ()),
        ("by", ("--where", "time=07:00..09:00", "--by", "mode,stop", "--top", 3)),
        ("workload", ("--workload",)),
    ],
)
def test_query(hold, written, town, name, question):
    tree = written("query", town.released("person-day-reconcile").folder, *question)
    if name == "by":
        tree.pop("checks", None)  # there are some where this draw of the noise has one of the three withdrawn
    hold(f"trees/query-{name}", tree)


def test_ledger_of_all(hold, written, town):
    hold(
        "trees/ledger-show", written("ledger", "show", "--ledger", town.released("person-day-nested").ledger)
    )


def test_ledger_of_one_dataset(hold, written, town):
    ledger = town.released("person-day-nested").ledger
    hold("trees/ledger-show-one", written("ledger", "show", "town", "--ledger", ledger))


def test_ledger_check(hold, written, town):
    ledger = town.released("person-day-nested").ledger
    hold("trees/ledger-check", written("ledger", "check", "--ledger", ledger))


@pytest.mark.parametrize("world", ["linked", "one-margin", "exact", "as-in-2016"])
def test_assessment(hold, tree_of, published, world):
    hold(f"trees/assessment-{world}", tree_of(published(world).content))


@pytest.mark.parametrize("which", ["plain", "truth", "gtfs", "weeks"])
def test_assessment_of_a_city(hold, tree_of, city_assessed, which):
    hold(f"trees/assessment-city-{which}", tree_of(city_assessed(which).content))
