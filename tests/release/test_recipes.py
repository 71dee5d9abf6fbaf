"""Releases from end to end: every recipe runs, and what it writes is whole, ordered and in the domain."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from noisegate.errors import SpecError
from noisegate.ledger import open_ledger
from noisegate.releases import make_plan
from noisegate.spec import load_spec, parse_spec
from noisegate.tables import PROTOCOL, RELEASE_FILES

AS_IN_2016 = {
    "unit": "event",
    "scale": "1.4",
    "law": "laplace",
    "zeros": "keep",
    "suppress": {"below": 18},
    "margins": "independent",
    "unsafe": "true",
}
PERSON_DAY = {"unit": "person-day", "max_cells": 4, "epsilon": "2"}

RECIPES = {
    "2016": AS_IN_2016,
    "2016-discrete": {**AS_IN_2016, "law": "discrete-laplace"},
    "event-derive": {"unit": "event", "epsilon": "1", "margins": "derive", "suppress": {"below": 5}},
    "event-reconcile-whole": {"unit": "event", "epsilon": "1"},
    "person-day-derive-spurious": {**PERSON_DAY, "margins": "derive", "suppress": {"spurious": "0.001"}},
    "person-day-derive-whole": {**PERSON_DAY, "margins": "derive"},
    "person-day-reconcile-below": {**PERSON_DAY, "suppress": {"below": 10}},
    "person-day-independent": {**PERSON_DAY, "margins": "independent", "unsafe": "true", "suppress": {"below": 9}},
    "person-reconcile": {"unit": "person", "max_cells": 10, "epsilon": "4", "suppress": {"spurious": "0.01"}},
    "person-per-cell": {**PERSON_DAY, "unit": "person", "max_per_cell": 3, "margins": "derive", "suppress": {"below": 30}},
    "gaussian-reconcile": {**PERSON_DAY, "law": "discrete-gaussian", "delta": "1e-6"},
    "gaussian-derive": {**PERSON_DAY, "law": "discrete-gaussian", "delta": "1e-6", "margins": "derive", "suppress": {"spurious": "0.001"}},
    "rounded-laplace-split": {**PERSON_DAY, "law": "rounded-laplace", "split": {"time-loc": "1/2", "time": "1/2", "loc": "0"}},
    "kept-zeros-without-a-cut": {"unit": "event", "epsilon": "2", "zeros": "keep", "margins": "derive", "unsafe": "true"},
}  # fmt: skip


def check_files(made, spec):
    """Nothing but what belongs there; both forms equal; every row a cell of the public domain, in its order."""
    tables = made.card["tables"]
    files = {f"{name}.{kind}" for name in tables for kind in ("csv", "parquet")}
    assert {path.name for path in made.folder.iterdir()} == files | (RELEASE_FILES - {PROTOCOL})
    for name, table in tables.items():
        domain = spec.domain if table["base"] else spec.margins[name].domain
        assert made.csv[name] == made.parquet[name]
        assert table["rows"] == len(made.csv[name]) == table["cells"] - table["suppressed"]
        codes = [{label: n for n, label in enumerate(dim.labels)} for dim in domain.dimensions]
        rows = [
            [code[label] for code, label in zip(codes, labels, strict=True)] for labels, _ in made.csv[name]
        ]
        cells = domain.encode(*zip(*rows, strict=True)).tolist() if rows else []
        assert all(cell >= 0 for cell in cells)
        assert cells == sorted(set(cells))
        if table["threshold"] is not None:
            assert all(count >= table["threshold"]["value"] for _, count in made.csv[name])
    assert json.loads((made.folder / "card.json").read_text()) == made.result.card.to_json()


def check_ledger(made, ledger, noisegate):
    """Charged what the card says, marked with the card's digest, and consistent."""
    with open_ledger(ledger, read_only=True) as book:
        (account,) = book.accounts()
        (paid,) = account.reservations
        assert book.check() == ()
    assert paid.state == "published"
    assert paid.id == made.card["ledger"]["reservation"]
    assert float(paid.loss.epsilon) == pytest.approx(made.card["privacy_parameters"]["epsilon"], rel=1e-15)
    assert float(paid.loss.delta) == pytest.approx(made.card["privacy_parameters"]["delta"], rel=1e-15)
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 0


def test_the_spec_as_it_stands(world, make, ledger, noisegate):
    path = world.folder / "as-it-stands.yaml"
    path.write_text((Path(__file__).parents[1] / "specs" / "design.yaml").read_text())
    spec = load_spec(path)
    made = make(spec)
    check_files(made, spec)
    check_ledger(made, ledger, noisegate)
    card = made.card
    assert (card["privacy_unit"], card["dp_variant"], card["simulated"]) == ("person-day", "pure DP", False)
    assert card["privacy_parameters"] == {"epsilon": 2.0, "delta": 0.0}
    assert card["privacy_loss"]["person"] == {"epsilon": 14.0, "delta": 0.0}
    assert card["unsafe"] == []
    assert (
        card["tables"]["time-loc"]["cells"]
        == spec.domain.size
        == 7 * 2 * 96 * (len(spec.dimensions["location"].values) + 3)  # UNKNOWN goes with all four modes
    )
    assert sum(table["share"] for table in card["tables"].values()) == pytest.approx(1)
    assert card["tables"]["loc"]["rows"] > 10


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe(recipe, spec_of, make, ledger, noisegate):
    spec = spec_of(RECIPES[recipe], every="1h")
    made = make(spec)
    check_files(made, spec)
    check_ledger(made, ledger, noisegate)
    for table in made.card["tables"].values():
        if RECIPES[recipe].get("suppress") is None and RECIPES[recipe].get("zeros") != "keep":
            assert table["suppressed"] == 0
            assert table["threshold"] is None


def test_the_specs_that_come_with_a_world(world, noisegate, tmp_path, ledger, read_release):
    for name in ("spec", "spec-2016"):
        (tmp_path / name).mkdir()
        code, out, err = noisegate(
            "release", world.folder / f"{name}.yaml", "--quiet", "--out", tmp_path / name / "out", "--ledger", f"{ledger}-{name}", "--json", tmp_path / f"{name}.json"
        )  # fmt: skip
        assert (code, err) == (0, "")
        assert "For your eyes only" not in out
        assert (
            json.loads((tmp_path / f"{name}.json").read_text()) == read_release(tmp_path / name / "out").card
        )
        assert noisegate("ledger", "check", "--ledger", f"{ledger}-{name}")[0] == 0
    # After a promise to days of persons, a release that promises them nothing is refused.
    code, _, err = noisegate(
        "release",
        world.folder / "spec-2016.yaml",
        "--out",
        tmp_path / "spec" / "both",
        "--ledger",
        f"{ledger}-spec",
    )
    assert code == 3
    assert "promises nothing to one day of a person of population 'invented-city'" in err


def test_buses_by_postcode(spec_of, make, world):
    content = spec_of({**PERSON_DAY, "epsilon": "4"}, every="6h", plain=True)
    content["dimensions"]["location"]["group_by"] = {"postcode": {"mode": ["bus"]}}
    spec = parse_spec(content, folder=world.folder)
    made = make(spec)
    check_files(made, spec)
    where = {
        mode: {labels[3] for labels, _ in made.csv["loc"] if labels[0] == mode} for mode in ("bus", "train")
    }
    assert where["bus"] == {
        line.split(",")[2] for line in (world.folder / "stops.csv").read_text().splitlines()[1:]
    }
    assert where["train"] == set(spec.dimensions["location"].values)
    sums = dict.fromkeys((labels for labels, _ in made.csv["loc"]), 0)
    for (mode, date, tap, _, location), count in made.csv["time-loc"]:
        sums[mode, date, tap, location] += count
    assert sums == dict(made.csv["loc"])


@pytest.mark.parametrize("margins", ["reconcile", "derive"])
def test_wider_cells_at_night(margins, spec_of, make):
    merge = [
        {
            "dimension": "time",
            "into": "night",
            "where": {"time": {"from": "21:00", "to": "06:00"}, "mode": ["ferry"]},
        }
    ]
    spec = spec_of({**PERSON_DAY, "margins": margins}, every="1h", merge=merge)
    made = make(spec)
    check_files(made, spec)
    ferry = {labels[3] for labels, _ in made.csv["time-loc"] if labels[0] == "ferry"}
    assert ferry == {"night", *(f"{hour:02d}:00" for hour in range(6, 21))}
    assert made.card["tables"]["loc"]["error"]["terms"] == 24


def test_terms_count_every_part_of_the_domain_that_adds_up(spec_of):
    """The night of the ferries is a block of its own; a cell of `loc` is the sum of day and night."""
    merge = [
        {
            "dimension": "time",
            "into": "night",
            "where": {"time": {"from": "21:00", "to": "06:00"}, "mode": ["ferry"]},
        }
    ]
    tables = {
        "time-loc": ["mode", "tap", "time", "location"],
        "loc": ["mode", "location"],
        "all": ["location"],
    }
    spec = spec_of({**PERSON_DAY, "margins": "derive"}, every="1h", merge=merge, tables=tables)
    plan = make_plan(spec)
    for table in plan.margins:
        margin = spec.margins[table.name]
        exact = margin.terms(range(margin.domain.size)).max()
        assert exact <= table.error.terms
        if table.name == "loc":
            assert table.error.terms == exact


def test_a_domain_too_large_to_reconcile_is_refused_before_anything_is_read(spec_of, make, ledger, tmp_path):
    spec = spec_of({**PERSON_DAY, "suppress": {"spurious": "1e-7"}}, every="1s", to="2016-08-31")
    with pytest.raises(
        SpecError,
        match=r"^'margins: reconcile' holds every cell of one mode in memory.* Use 'margins: derive', or put",
    ) as caught:
        make(spec)
    assert "\n" not in str(caught.value)
    assert not ledger.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_domain_of_millions_can_be_derived(spec_of, make):
    """64 million cells, of which all but ten thousand are empty and none is visited."""
    spec = spec_of(
        {**PERSON_DAY, "margins": "derive", "suppress": {"spurious": "1e-5"}}, every="1s",
        tables={"time-loc": ["mode", "date", "tap", "time", "location"], "loc": ["mode", "location"]},
    )  # fmt: skip
    assert spec.domain.size > 60_000_000
    made = make(spec)
    assert made.csv["time-loc"] == made.parquet["time-loc"]
    cells, share = spec.domain.size, made.card["tables"]["time-loc"]["spurious_share"]
    assert share <= 1e-5
    assert abs(len(made.csv["time-loc"]) - cells * share) < 6 * (cells * share) ** 0.5 + 10


@pytest.mark.parametrize(
    ("privacy", "sentence"),
    [
        ({**PERSON_DAY, "zeros": "keep", "unsafe": "true"}, "privacy.zeros is 'keep', but 'margins: reconcile' needs noise"),
        ({**PERSON_DAY, "margins": "independent", "unsafe": "true", "split": {"time-loc": "1/2", "time": "1/2", "loc": "0"}}, "privacy.split.loc is 0"),
        ({**PERSON_DAY, "epsilon": "1e-13"}, "the scale of discrete-laplace noise must be above 0 and at most"),
        ({**PERSON_DAY, "epsilon": "1e-4", "law": "discrete-gaussian", "delta": "1e-6"}, "the scale of discrete-gaussian noise must be above 0"),
        ({"unit": "person", "max_cells": 40, "scale": "1", "zeros": "keep", "margins": "independent", "suppress": {"below": 2}, "unsafe": "true"}, "privacy.zeros is 'keep', and a unit would show itself for certain"),
    ],
    ids=["keep-reconcile", "independent-without-noise", "tiny-epsilon", "tiny-gaussian", "shown-for-certain"],
)  # fmt: skip
def test_what_cannot_be_made_is_refused_before_anything_is_spent(
    privacy, sentence, spec_of, make, ledger, tmp_path
):
    with pytest.raises(SpecError) as caught:
        make(spec_of(privacy, every="6h"))
    assert str(caught.value).startswith(sentence)
    assert not ledger.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suppress", [{}, {"suppress": {"below": 1}}], ids=["no-cut", "low-cut"])
def test_a_table_of_nothing_but_noise_is_refused(suppress, spec_of, make, ledger):
    """Hundreds of millions of cells: without a cut all would be published, with a low one a third of them."""
    spec = spec_of({**PERSON_DAY, "margins": "derive", **suppress}, every="1s", to="2016-08-31")
    assert spec.domain.size > 450_000_000
    with pytest.raises(
        SpecError, match=r"^Table 'time-loc' would have [0-9.e+]+ rows of empty cells that only noise shows"
    ):
        make(spec)
    assert not ledger.exists()


@pytest.mark.parametrize("share", ["0.001", "0.3", "0.5", "0.9"])
@pytest.mark.parametrize("margins", ["derive", "reconcile"])
def test_at_most_the_stated_share_of_empty_cells_is_published(share, margins, spec_of):
    plan = make_plan(spec_of({**PERSON_DAY, "margins": margins, "suppress": {"spurious": share}}, every="6h"))
    base = plan.base
    assert base.least >= 1
    if margins == "derive":
        assert base.noise.passing(base.least) <= Fraction(share)
        assert base.least == 1 or base.noise.passing(base.least - 1) > Fraction(share)
    else:
        assert base.spurious == float(share)
