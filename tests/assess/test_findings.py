"""What follows from recovered noise: margins, zeros, loss, card, gates."""

import json
import math
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from noisegate import assessment as package
from noisegate.assessment import Finding, LossSummary, about_loss, at_least
from noisegate.errors import DataError, InternalError, SpecError
from noisegate.laws import Laplace
from noisegate.mechanisms import Contribution, Mechanism, composed_delta
from noisegate.recovery import Recognition
from noisegate.tables import find_card

#: Suppressed cells have tests of their own.
assess = partial(package.assess, attacker=None)

ROOT = Path(__file__).parents[2]
#: Laplace noise of scale 1, cut off at 5.
LIKE_LAPLACE = np.exp(-np.abs(np.arange(-5, 6))) / np.exp(-np.abs(np.arange(-5, 6))).sum()


def by_id(results, name):
    return [one for one in results if one.id == name]


def city(invent, rng, *, scale=1.4, margins="independent", zeros="keep"):
    """A fortnight of quarters of an hour: eight ferry wharves that sleep at night, two stations that do not.

    Everybody who boards at the first wharf alights at the second, half an hour later.
    """
    quarters = np.arange(96)
    wharves = np.where((quarters > 22) & (quarters < 90), 1.0, 0.0) * rng.uniform(5, 150, size=(8, 1, 1, 96))
    level = np.concatenate([np.broadcast_to(wharves, (8, 14, 2, 96)), np.full((2, 14, 2, 96), 60.0)])
    raw = rng.poisson(level)
    raw[1, :, 1, 2:] = raw[0, :, 0, :-2]
    base = np.where((raw > 0) | (zeros == "perturb"), invent.noisy(raw, scale, rng), 0)
    mode = np.array([[True] * 8 + [False] * 2, [False] * 8 + [True] * 2])
    visible = np.where(base >= 18, base, 0)
    summed = visible if margins == "derived" else raw
    by_time, by_place = np.einsum("mp,pdtq->mdtq", mode, summed), summed.sum(axis=3)
    if margins == "independent":
        by_time, by_place = (np.where(t > 0, invent.noisy(t, scale, rng), 0) for t in (by_time, by_place))
    modes, places = ["ferry", "train"], [f"place {k}" for k in range(10)]
    date, tap, time = invent.days(14), ["on", "off"], invent.clock()
    nested = mode[:, :, None, None]
    return {
        "time_loc": (
            {"mode": modes, "place": places, "date": date, "tap": tap, "time": time},
            np.where(nested[..., None], base, np.nan),
        ),
        "time": ({"mode": modes, "date": date, "tap": tap, "time": time}, by_time),
        "loc": (
            {"mode": modes, "place": places, "date": date, "tap": tap},
            np.where(nested, by_place, np.nan),
        ),
    }


@pytest.fixture
def excluded(monkeypatch):
    """As if tables excluded all noise that stops, which takes more sums than these worlds have: what is looked at is what the loss adds up to."""
    monkeypatch.setattr(Recognition, "has_epsilon", property(lambda one: one.excluded is not None))


@pytest.mark.usefixtures("excluded")
def test_derived_margins_reveal_nothing_by_differences(tables, invent):
    found = assess(tables(**city(invent, np.random.default_rng(1), margins="derived")))
    assert not by_id(found.findings, "independent-margins")
    assert [one.outcome for one in by_id(found.checks, "margins")] == ["fine", "fine"]
    assert all(one.numbers["derived"] for one in by_id(found.checks, "margins"))
    # Sums of published counts cost nothing: only the base adds to the loss.
    assert list(found.privacy.tables) == ["time-loc"]
    assert found.privacy.event_epsilon == pytest.approx(1 / found.tables[0].noise.fit.scale)


def test_consistent_margins_are_told_from_independent_ones(tables, invent):
    rng = np.random.default_rng(2)
    base = invent.noisy(rng.poisson(80, size=(20, 7, 12)), 1.4, rng)
    dimensions = {"place": [f"p{k}" for k in range(20)], "date": invent.days(7), "month": list(range(1, 13))}
    short = {"place": dimensions["place"], "date": dimensions["date"]}
    found = assess(tables(base=(dimensions, base), margin=(short, base.sum(axis=2))))
    # Nothing shows whether such tables were perturbed first: that they add up protects nobody.
    assert [one.id for one in found.findings] == ["unprotected"]
    assert by_id(found.checks, "margins")[0].outcome == "known"
    off = base.sum(axis=2)
    off[3, 4] += 1
    found = assess(tables(base=(dimensions, base), margin=(short, off)))
    (finding,) = by_id(found.findings, "independent-margins")
    assert finding.numbers["complete_off"] == 1
    assert "p3 2016-07-29" in finding.evidence[0]


@pytest.mark.usefixtures("excluded")
def test_the_loss_adds_up_over_tables_and_events(tables, invent):
    found = assess(tables(**city(invent, np.random.default_rng(3))))
    base, by_time, by_place = (table.noise.fit for table in found.tables)
    assert by_place is None
    event = 2 / base.scale + 1 / by_time.scale
    privacy = found.to_json()["privacy"]
    assert privacy["event_epsilon"] == pytest.approx(event)
    assert privacy["event_epsilon_replace"] == pytest.approx(2 * event)
    assert privacy["person_epsilon"] == pytest.approx(40 * event)
    assert privacy["person_epsilon_tight"] < privacy["person_epsilon"]
    assert any("noise as in time-loc" in one for one in privacy["assumes"])
    low, high = privacy["event_epsilon_interval"]
    assert low < event < high
    (finding,) = by_id(found.findings, "privacy-loss")
    # Conditional on a law without a bound, of which some thousand identities leave little doubt, but some.
    assert finding.severity == "medium"
    assert finding.title.startswith("If the noise is Laplace, epsilon is")
    assert privacy["condition"]["excluded_up_to"] >= 4
    # What that means for a person, beside tossing a coin.
    rights = {one["events"]: one["right"] for one in privacy["certainty"]}
    assert list(rights) == [1, 4, 40, 100]
    assert 0.6 < rights[1] < rights[4] < rights[40] <= rights[100] <= 1
    assert any(
        "about a commuter (40 events)" in one and "tossing a coin 50 %" in one for one in finding.evidence
    )


def test_where_noise_that_stops_fits_as_well_there_is_no_epsilon_and_it_is_said_where(tables, invent):
    """Laplace noise is named, as it is likelier; an epsilon asks for more."""
    found = assess(tables(**city(invent, np.random.default_rng(3))))
    privacy = found.to_json()["privacy"]
    stop = privacy["may_stop_at"]
    assert privacy["law"] == "laplace"
    assert privacy["excluded_up_to"] < stop
    assert found.privacy.event_epsilon is None
    (finding,) = by_id(found.findings, "privacy-loss")
    assert finding.title.endswith(
        f"noise that stops at ±{stop} or beyond fits as well as Laplace noise, and has none"
    )
    assert finding.evidence[0].startswith("It is called Laplace noise as that is likelier.")
    made = found.tables[0].recognition
    assert f"stops at ±{stop} is not excluded" in made.evidence


@pytest.mark.parametrize("zeros", ["keep", "perturb"])
def test_the_zero_rule_is_told_where_noise_is_wide(tables, invent, zeros):
    found = assess(tables(**city(invent, np.random.default_rng(4), scale=4.0, zeros=zeros)))
    if zeros == "perturb":
        (check,) = by_id(found.checks, "zeros")
        assert check.outcome == "fine"
        assert check.numbers["published"] > 20
        assert found.privacy.delta == 0
    else:
        (finding,) = by_id(found.findings, "zeros-kept")
        assert finding.numbers["source"] == "tables"
        assert "expected if zeros are perturbed" in finding.evidence[0]


@pytest.mark.usefixtures("excluded")
def test_kept_zeros_come_with_their_exact_delta(tables, invent):
    found = assess(tables(**city(invent, np.random.default_rng(5), scale=4.0)))
    scales = [1 / cost for cost in found.privacy.tables.values()]
    made = [
        Contribution(
            mechanism=Mechanism(
                law=Laplace(scale), rounding="nearest", threshold=18, rule="ge", zeros="keep"
            ),
            cells=1,
        )
        for scale in scales
    ]
    exact = composed_delta(made, sum(1 / scale for scale in scales)).upper
    assert found.privacy.delta == pytest.approx(exact)
    # One table alone: half of exp(-16.5 / scale), the chance that one event passes the cut of 18.
    assert found.privacy.numbers["detection"]["1"] == pytest.approx(0.5 * math.exp(-16.5 / scales[0]))


@pytest.mark.usefixtures("excluded")
def test_the_zero_rule_of_narrow_noise_cannot_be_told(tables, invent):
    found = assess(tables(**city(invent, np.random.default_rng(6), scale=1.4)))
    (check,) = by_id(found.checks, "zeros")
    assert check.outcome == "cannot tell"
    assert "decides nothing" in check.title
    assert found.privacy.delta is None
    assert 0 < found.to_json()["privacy"]["delta_if_zeros_kept"] < 1e-3


def test_nothing_is_said_about_zeros_of_consistent_tables(tables, invent):
    """Reconciled tables publish fewer empty cells than noise alone would; that proves nothing."""
    found = assess(tables(**city(invent, np.random.default_rng(7), scale=4.0, margins="derived")))
    (check,) = by_id(found.checks, "zeros")
    assert check.outcome == "cannot tell"


def card(
    folder, *, scale=1.4, least=18, law="rounded-laplace", unit="event", zeros="keep", margins="independent"
):
    """A card as a release writes it, as far as an assessment reads it."""
    dimensions = {
        "time-loc": ["mode", "place", "date", "tap", "time"],
        "time": ["mode", "date", "tap", "time"],
        "loc": ["mode", "place", "date", "tap"],
    }
    loss = {"epsilon": 3 / scale, "delta": 1e-5}
    content = {
        "privacy_unit": unit,
        "mechanism": {"zeros": zeros, "margins": margins},
        "privacy_loss": {
            "event": loss,
            "person": None if unit == "event" else {"epsilon": 28.0, "delta": 0.0},
            "person_example": {"events": 40, "epsilon": 120 / scale, "delta": 1e-3}
            if unit == "event"
            else None,
        },
        "tables": {
            name: {
                "dimensions": columns,
                "noise": {"law": law, "scale": scale},
                "threshold": {"value": least, "rule": "ge"},
            }
            for name, columns in dimensions.items()
        },
    }
    path = folder / "card.json"
    path.write_text(json.dumps(content))
    return path


def test_a_card_beside_the_tables_is_found_and_agrees(tables, invent, tmp_path):
    paths = tables(**city(invent, np.random.default_rng(8)))
    card(tmp_path)
    found = assess(paths)
    assert not by_id(found.findings, "card-disagrees")
    (check,) = by_id(found.checks, "card")
    assert any("the card says 1.4" in one for one in check.evidence)
    # What the card states is not given away by the tables.
    assert not by_id(found.findings, "noise-recovered")
    assert by_id(found.checks, "noise-recovered")
    assert found.privacy.source == "card"
    assert by_id(found.findings, "zeros-kept")[0].numbers["source"] == "card"
    assert by_id(found.findings, "privacy-loss")[0].severity == "high"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"scale": 3.0}, "recovered scale"),
        ({"law": "discrete-gaussian", "scale": 2.0}, "the noise is laplace, the card says discrete-gaussian"),
        ({"least": 25}, "shows 18, the card says published from 25 on"),
    ],
)
def test_a_card_that_is_wrong(tables, invent, tmp_path, wrong, says):
    paths = tables(**city(invent, np.random.default_rng(9)))
    path = card(tmp_path, **wrong).rename(tmp_path / "other.json")
    found = assess(paths, card=path)
    (finding,) = by_id(found.findings, "card-disagrees")
    assert finding.severity == "high"
    assert any(says in one for one in finding.evidence)
    # A card that is wrong is not relied on.
    assert found.privacy.source == "recovered"


def test_a_card_that_says_the_wrong_thing_about_zeros(tables, invent, tmp_path):
    paths = tables(**city(invent, np.random.default_rng(10), scale=4.0))
    card(tmp_path, scale=4.0, zeros="perturb")
    (finding,) = by_id(assess(paths).findings, "card-disagrees")
    assert any("the tables say keep" in one for one in finding.evidence)


def test_what_a_card_promises_to_persons_is_judged_like_what_is_recovered(tables, invent, tmp_path):
    paths = tables(**city(invent, np.random.default_rng(11), margins="derived"))
    card(tmp_path, unit="person-day", zeros="perturb", margins="derive")
    found = assess(paths)
    (finding,) = by_id(found.findings, "privacy-loss")
    assert finding.severity == "medium"
    assert found.privacy.person_epsilon == 28.0


@pytest.mark.parametrize(
    ("unit", "day", "person", "severity"),
    [
        ("person", None, 180.0, "high"),
        ("person", None, 4.0, "medium"),
        ("person", None, 0.9, None),
        ("person-day", 0.5, 180.0, "high"),
        ("person-day", 0.5, 28.0, "medium"),
        ("person-day", 0.5, 7.0, None),
    ],
)
def test_an_epsilon_on_a_card_has_the_severity_of_one_that_is_recovered(unit, day, person, severity):
    losses = SimpleNamespace(
        person=SimpleNamespace(epsilon=person), person_day=day and SimpleNamespace(epsilon=day)
    )
    stated = SimpleNamespace(unit=unit, losses=losses)
    loss = LossSummary(event_epsilon=0.5, person_epsilon=person, source="card", numbers={"person_events": 40})
    (found,) = about_loss(loss, stated)
    assert getattr(found, "severity", None) == severity


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json", '{"tables": 3}', "[" * 100_000])
def test_cards_that_are_none(tmp_path, content):
    path = tmp_path / "card.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        find_card(path, [])
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match="does not exist"):
        find_card(tmp_path / "none.json", [])


def test_findings_know_their_severity():
    finding = Finding(id="x", severity="medium", title="t", advice="a")
    assert at_least([finding], "medium") == at_least([finding], "low") == [finding]
    assert at_least([finding], "high") == []
    with pytest.raises(SpecError, match="--fail-on must be one of unrecognised, low, medium, high"):
        at_least([finding], "urgent")
    with pytest.raises(InternalError):
        Finding(id="x", severity="urgent", title="t", advice="a")


def test_the_assessment_as_json(tables, invent):
    found = assess(tables(**city(invent, np.random.default_rng(12))))
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(content) >= {"tables", "findings", "privacy", "checks", "level"}
    for table in content["tables"]:
        assert set(table) >= {"name", "rows", "dimensions", "domain_size", "suppressed", "threshold", "noise"}
        assert set(table["threshold"]) >= {"value", "rule"}
        assert set(table["noise"]) >= {"law", "scale", "interval", "level", "rounding", "evidence", "n"}
    for finding in content["findings"]:
        assert list(finding) == [
            "id",
            "severity",
            "title",
            "numbers",
            "evidence",
            "advice",
            "baseline",
            "assumptions",
            "picture",
        ]
        assert {f"Assumed: {line}." for line in finding["assumptions"]} <= set(finding["evidence"])
        assert finding["advice"]
    assert {"event_epsilon", "person_epsilon", "delta"} <= set(content["privacy"])
    order = [("low", "medium", "high").index(finding["severity"]) for finding in content["findings"]]
    assert order == sorted(order, reverse=True)


@pytest.mark.usefixtures("excluded")
@pytest.mark.parametrize("whole", ["Total", "Everyone"])
def test_tables_without_dates_count_each_person_once(tables, invent, whole):
    """Of a census table nobody can say that a person has forty events; each is in a part and in its total.

    "Total" is taken for a table of its own, "Everyone" is known from the identity alone: the loss is the same.
    """
    rng = np.random.default_rng(14)
    raw = rng.poisson(rng.gamma(2.0, 60.0, size=(60, 5, 2)))
    ages = ["0-14", "15-29", "30-44", "45-64", "65+"]
    dimensions = {"region": [f"r{k}" for k in range(60)], "age": ages, "sex": ["Male", "Female", whole]}
    published = invent.noisy(np.concatenate([raw, raw.sum(axis=2, keepdims=True)], axis=2), 2.0, rng)
    found = assess(tables(census=(dimensions, published)), identities=[f"Male + Female = {whole}"])
    privacy = found.privacy
    assert privacy.numbers["person_events"] == 1
    assert privacy.person_epsilon == privacy.event_epsilon == pytest.approx(2 / 2.0, rel=0.2)
    (finding,) = by_id(found.findings, "privacy-loss")
    assert "for a person who is counted once" in finding.title
    assert finding.severity in ("low", "medium")
    assert "events" not in finding.advice


def test_every_finding_and_check_is_explained():
    """The page names each id that this part of an assessment can state."""
    page = (ROOT / "docs" / "explanation" / "assessment.md").read_text()
    modules = ("card", "couplings", "loss", "margins", "noise", "thresholds", "zeros")
    folder = ROOT / "src" / "noisegate" / "assessment"
    stated = {
        name for one in modules for name in re.findall(r'id="([a-z-]+)"', (folder / f"{one}.py").read_text())
    }
    assert len(stated) >= 14
    assert {name for name in stated if f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    ("noise", "words", "loss"),
    [
        (lambda c, _: c, "carries no noise", "there is no noise"),
        (
            lambda c, rng: c + rng.integers(-3, 3, size=c.shape, endpoint=True),
            "uniform up to 3 either way",
            "the noise has a largest value",
        ),
        (
            lambda c, rng: c - c % 5 + 5 * (rng.random(c.shape) * 5 < c % 5),
            "random rounding to multiples of 5",
            "the noise has a largest value",
        ),
        (
            lambda c, rng: c + np.rint(rng.normal(scale=2.0, size=c.shape)),
            "Gaussian, rounded or discrete, scale",
            "noise with a bound explains the tables as well",
        ),
        # Fewer than two hundred would do to call this Laplace noise, and it has a bound.
        (
            lambda c, rng: c + rng.choice(np.arange(-5, 6), p=LIKE_LAPLACE, size=c.shape),
            "The noise of",
            "noise with a bound explains the tables as well",
        ),
    ],
)
def test_other_noise_in_words(tables, invent, noise, words, loss):
    """Each law is described as what it is, and only Laplace noise has an epsilon with delta 0."""
    rng = np.random.default_rng(15)
    raw = rng.poisson(rng.uniform(40, 150, size=(10, 60)))
    values = np.stack([noise(raw, rng), noise(raw, rng)], axis=1)
    dimensions = {"date": invent.days(10), "tap": ["on", "off"], "time": invent.clock(start=300, stop=1200)}
    found = assess(tables(ferry=(dimensions, values)), pairs=[("tap=on", "tap=off")])
    assert any(words in one.title for one in found.findings)
    (finding,) = by_id(found.findings, "privacy-loss")
    assert loss in finding.title
    if "largest value" in loss:
        # Uniform within ±3, rounding to 5: the edge of the noise gives itself away so often.
        assert finding.numbers["delta_at_least"] == pytest.approx(
            1 / 7 if "uniform" in words else 1 / 5, rel=0.01
        )
    assert found.privacy.tables == {}
