"""`--weeks`: the section, its finding and its picture, on a release as in 2016 and on a sound one."""

import json

import numpy as np
import pytest

from noisegate.assessment import Persons, assess, check_weeks
from noisegate.cli.main import main
from noisegate.errors import SpecError
from noisegate.laws import RoundedLaplace, SeededNoise
from noisegate.mechanisms import Mechanism, Residual, detection
from noisegate.releases import release
from noisegate.report import write_assessment
from noisegate.simulation import simulate
from noisegate.spec import load_spec
from noisegate.testing import simulated_widths


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A small world with both its releases; the card lies beside the tables."""
    folder = tmp_path_factory.mktemp("weeks")
    made = simulate(folder / "world", days=7, persons=6_000, seed=2)
    for name, spec in (("2016", made.spec_2016), ("sound", made.spec)):
        release(load_spec(spec), out=folder / name, ledger=folder / f"{name}.db", entropy=SeededNoise(seed=2))
    return made, folder


def paths(folder, name):
    return [folder / name / f"{table}.csv" for table in ("time-loc", "time", "loc")]


@pytest.fixture(scope="module")
def as_in_2016(world):
    made, folder = world
    out = folder / "assessed"
    found = assess(paths(folder, "2016"), weeks=52, attacker=None, truth=made.taps)
    write_assessment(found, out)
    return found, json.loads((out / "assessment.json").read_text()), out


def test_detection_by_week_is_that_of_the_mechanism(as_in_2016):
    _, content, _ = as_in_2016
    weeks = content["weeks"]
    mechanism = Mechanism(law=RoundedLaplace(1.4), rounding="nearest", threshold=18, rule="ge", zeros="keep")
    for one in weeks["detection"]:
        q = detection(mechanism, one["group"])
        assert one["chance"] == pytest.approx(q, rel=0.05)
        assert len(one["by_week"]) == 52
        assert one["by_week"][51] == pytest.approx(
            1 - (1 - one["chance"]) ** (52 * one["occasions_per_week"]), rel=1e-6
        )
    twelve = next(one for one in weeks["detection"] if (one["group"], one["occasions_per_week"]) == (12, 5))
    assert twelve["weeks_until"]["0.5"] == 15
    assert twelve["by_week"][14] >= 0.5 > twelve["by_week"][13]


def test_the_width_of_a_recurring_count_agrees_with_simulation(as_in_2016):
    _, content, _ = as_in_2016
    width = content["weeks"]["width"]
    assert width["count"] == 12
    assert len(width["by_week"]) == 52
    law = RoundedLaplace(1.4)
    cell = Mechanism(law=law, rounding="nearest", threshold=18, rule="ge", zeros="keep")
    residual = Residual(total=law, part=law, parts=width["parts"], cell=cell)
    mean, error = simulated_widths(residual, count=12, weeks=[1, 13], rng=np.random.default_rng(1))
    for place, week in enumerate((1, 13)):
        assert abs(width["by_week"][week - 1] - mean[place]) < 3 * error[place] + 0.05


def test_the_loss_is_linear_in_the_worst_case_and_less_when_composed(as_in_2016):
    _, content, _ = as_in_2016
    event, commuter, heavy = content["weeks"]["loss"]
    assert (event["events_per_week"], commuter["events_per_week"], heavy["events_per_week"]) == (1, 20, 60)
    for one in (event, commuter, heavy):
        linear = {at["week"]: at["linear"] for at in one["by_week"]}
        assert linear[52] == pytest.approx(52 * linear[1])
        assert all(at["tight"] <= at["linear"] for at in one["by_week"])
        assert all(at["delta"] >= 1e-6 for at in one["by_week"])
    assert event["by_week"][0]["linear"] == pytest.approx(3 / 1.4, rel=1e-6)
    assert commuter["weeks_until"]["10"] == 1
    assert event["weeks_until"]["10"] == 5


def test_persons_of_the_raw_data_have_their_loss(as_in_2016):
    _, content, _ = as_in_2016
    persons = content["weeks"]["persons"]
    assert persons["persons"] <= 6_000
    half = next(one for one in persons["quantiles"] if one["share_of_persons"] == 0.5)
    assert half["epsilon"] == pytest.approx(half["events"] * content["privacy"]["event_epsilon"])
    assert persons["days"] == 7


def test_quantiles_of_persons():
    told = Persons.of(np.array([0, 1, 2, 3, 4, 10]), days=14, event_epsilon=0.5)
    assert told.persons == 5
    assert told.quantiles[0.5] == 3
    assert told.quantiles[0.99] == 10
    costs = {one["share_of_persons"]: one for one in told.to_json()["quantiles"]}
    assert costs[0.5]["epsilon"] == 1.5
    assert costs[0.5]["epsilon_per_week"] == 0.75
    unknown = Persons.of(np.array([2]), days=7, event_epsilon=None).to_json()
    assert unknown["quantiles"][0]["epsilon"] is None


def test_the_picture_is_drawn(as_in_2016):
    _, _, out = as_in_2016
    text = (out / "weeks.svg").read_text()
    for piece in (
        "The same release for 52 weeks",
        "weeks released",
        "12 people",
        "worst case",
        "exact composition",
    ):
        assert piece in text


def test_a_sound_release_proves_nothing_however_long_it_goes_on(world):
    _, folder = world
    found = assess(paths(folder, "sound"), weeks=52, attacker=None)
    weeks = found.to_json()["weeks"]
    assert all(value == 0 for one in weeks["detection"] for value in one["by_week"])
    assert all(one["weeks_until"]["0.01"] is None for one in weeks["detection"])
    assert weeks["promised"]["days"] == 7
    (check,) = [one for one in found.checks if one.id == "more-weeks"]
    assert "proves nothing" in check.title
    assert not [one for one in found.findings if one.id == "more-weeks"]


def test_the_release_of_2016_is_a_finding(as_in_2016):
    found, _, _ = as_in_2016
    (finding,) = [one for one in found.findings if one.id == "more-weeks"]
    assert finding.severity == "high"
    assert any("every workday" in line for line in finding.evidence)
    assert any("one person" in line for line in finding.evidence)


def test_without_noise_nothing_can_be_said(tmp_path):
    table = tmp_path / "base.csv"
    table.write_text("date,time,loc,count\n2016-07-25,06:00,A,40\n2016-07-25,06:15,B,60\n")
    found = assess([table], weeks=4, attacker=None)
    (check,) = [one for one in found.checks if one.id == "more-weeks"]
    assert check.outcome == "cannot tell"
    assert found.to_json()["weeks"] is None
    stated = assess([table], weeks=4, attacker=None, noise="laplace:1.4").to_json()["weeks"]
    assert len(stated["detection"][0]["by_week"]) == 4
    # Nobody says what happens to zeros: the worse case is told, and that it is one.
    assert not stated["zeros_known"]
    assert stated["detection"][-1]["by_week"][-1] > 0
    assert any("empty cells stay empty" in line for line in stated["assumes"])


@pytest.mark.parametrize("noise", ["gaussian:2", "uniform:3", "random-rounding:3"])
def test_other_noise_has_its_section_and_picture(tmp_path, noise):
    table = tmp_path / "base.csv"
    table.write_text(
        "date,time,loc,count\n2016-07-25,06:00,A,40\n2016-07-25,06:15,B,60\n2016-07-26,06:15,B,18\n"
    )
    out = tmp_path / "out"
    found = assess([table], weeks=6, attacker=None, noise=noise)
    write_assessment(found, out)
    section = json.loads((out / "assessment.json").read_text())["weeks"]
    assert len(section["detection"][0]["by_week"]) == 6
    bounded = [at["linear"] is not None for one in section["loss"] for at in one["by_week"]]
    assert all(bounded) == (noise != "uniform:3")
    assert [one.id for one in (*found.findings, *found.checks)].count("more-weeks") == 1
    assert (out / "weeks.svg").exists() == (section["width"] is not None)


@pytest.mark.parametrize("weeks", [0, -3, 521, 2.5, True])
def test_bad_numbers_of_weeks_are_refused(weeks):
    with pytest.raises(SpecError, match="--weeks must be a whole number from 1 to 520"):
        check_weeks(weeks)


def test_bad_weeks_exit_with_2(capsys, tmp_path):
    table = tmp_path / "base.csv"
    table.write_text("date,loc,count\n2016-07-25,A,40\n2016-07-25,B,60\n")
    assert main(["assess", str(table), "--weeks", "0"]) == 2
    assert "--weeks must be" in capsys.readouterr().err
