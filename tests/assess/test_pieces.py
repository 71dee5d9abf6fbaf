"""Counts that somebody has summed after they were published."""

from functools import partial

import numpy as np
import pytest

from noisegate import assessment as package
from noisegate.errors import SpecError
from noisegate.reading import find_structure, read_table
from noisegate.recovery import find_pieces

#: Suppressed cells have tests of their own.
assess = partial(package.assess, attacker=None)


def summed_city(invent, rng, *, places=40, number_of_days=7, scale=1.4):
    """Quarters of an hour, perturbed and cut at 18, then summed to the hour; and totals by place and day.

    Half of the places are busy at all hours, the others fade away at night.
    """
    quarters = np.arange(96)
    daily = np.exp(-(((quarters - 52) / 30) ** 2))
    level = np.exp(rng.uniform(np.log(20), np.log(400), size=places))
    floor = np.where(np.arange(places) % 2, 0.0, 90.0)
    raw = rng.poisson(level[:, None, None] * daily + floor[:, None, None], size=(places, number_of_days, 96))
    quarter = invent.noisy(raw, scale, rng)
    quarter = np.where((raw > 0) & (quarter >= 18), quarter, 0)
    hourly = quarter.reshape(places, number_of_days, 24, 4).sum(axis=3)
    names, dates = [f"place {k}" for k in range(places)], invent.days(number_of_days)
    return {
        "hourly": ({"place": names, "date": dates, "hour": list(range(24))}, hourly),
        "daily": ({"place": names, "date": dates}, invent.noisy(raw.sum(axis=2), scale, rng)),
    }


def test_sums_of_separately_cut_counts_are_recognised(tables, invent):
    found = assess(tables(**summed_city(invent, np.random.default_rng(1))))
    (summed,) = [one for one in found.checks if one.id == "summed-cells"]
    assert summed.numbers["pieces"] == 4
    assert "from 36 to 41" in summed.evidence[0]
    noise = found.tables[0].noise
    assert any("sum of 4 counts of 15 min" in one for one in noise.assumes)
    assert all(one.identities.noises[0].tolist() == [96, 1] for one in noise.sets)


def test_the_scale_of_sums_is_that_of_their_pieces(tables, invent):
    """As many noises as pieces, not one a cell: otherwise the scale would come out twice as large."""
    hits, scales = 0, []
    for seed in range(5):
        noise = assess(tables(**summed_city(invent, np.random.default_rng(100 + seed)))).tables[0].noise
        low, high = noise.fit.interval
        hits += low <= 1.4 <= high
        scales.append(noise.fit.scale)
    assert hits >= 4
    assert 1.2 < np.mean(scales) < 1.6


def test_tables_cut_once_are_no_sums(tables, invent):
    rng = np.random.default_rng(2)
    raw = rng.pareto(1.0, size=(200, 7, 24)) * 12
    dimensions = {"place": list(range(200)), "date": invent.days(7), "hour": list(range(24))}
    for counts in (invent.noisy(raw, 1.4, rng), rng.poisson(60, size=raw.shape)):
        (path,) = tables(t=(dimensions, counts))
        assert find_pieces(find_structure([read_table(path)]).base) is None


def test_a_person_may_say_from_which_bins(tables, invent):
    paths = tables(**summed_city(invent, np.random.default_rng(3)))
    noise = assess(paths, summed_from="30min").tables[0].noise
    assert any("sum of 2 counts of 30 min" in one for one in noise.assumes)
    for wrong in ("60min", "25min", "2h"):
        with pytest.raises(SpecError, match="--summed-from must be a bin that is finer"):
            assess(paths, summed_from=wrong)


def test_only_a_total_below_its_parts_shows_independent_noise(tables, invent):
    """An hour may lack a quarter, so totals above the sums prove nothing about sums of pieces."""
    given = summed_city(invent, np.random.default_rng(4))
    hourly = given["hourly"][1]
    given["daily"] = (given["daily"][0], hourly.sum(axis=2) + 3)
    found = assess(tables(**given))
    assert "independent-margins" not in [one.id for one in found.findings]


def test_counts_of_few_values_are_no_sums(tmp_path):
    """They rise anywhere, also at twice the least; and where every cell is shown nothing was cut."""
    counts = np.where(np.arange(2400).reshape(100, 24) % 2, 12, 25)
    for gone in (0.0, 0.05):
        lacks = np.random.default_rng(0).random(counts.shape) < gone
        lines = [f"{i},{j},{counts[i, j]}" for i, j in np.argwhere(~lacks)]
        (tmp_path / "t.csv").write_text("\n".join(["place,hour,count", *lines]))
        assert find_pieces(find_structure([read_table(tmp_path / "t.csv")]).base) is None


def test_a_valley_between_two_humps_is_no_sum(tables):
    """Counts of 18 and more with humps at 20 and 40: they thin out in between and rise again, but not at twice the least."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.where(rng.random((400, 24)) < 0.6, 20, 40))
    (path,) = tables(
        t=({"place": list(range(400)), "hour": list(range(24))}, np.where(counts >= 18, counts, 0))
    )
    assert find_pieces(find_structure([read_table(path)]).base) is None


def test_sums_of_pieces_without_totals_are_not_called_safe(tables, invent):
    given = summed_city(invent, np.random.default_rng(1))
    found = assess(tables(hourly=given["hourly"]))
    assert "hourly" in found.unrecognised
    assert "hourly" in found.not_examined
