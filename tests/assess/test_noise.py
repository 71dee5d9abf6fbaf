"""Which identities serve which table, and when there is a refusal and no number."""

from functools import partial

import numpy as np
import pytest

from noisegate import assessment as package
from noisegate.errors import DataError, SpecError

#: Suppressed cells have tests of their own.
assess = partial(package.assess, attacker=None)

SEXES = ["Male", "Female"]
REGIONS = [f"region {k:02d}" for k in range(60)]


def ids(results):
    return [one.id for one in results]


def of(assessment, table):
    return next(t.noise for t in assessment.tables if t.summary.name == table)


def covers(noise, scale):
    return noise.fit is not None and noise.fit.interval[0] <= scale <= noise.fit.interval[1]


def test_complete_rows_give_the_noise_and_say_what_is_assumed(tables, invent):
    rng = np.random.default_rng(1)
    raw = rng.poisson(120, size=(14, 20, 24))
    dates, stops, hours = invent.days(14), [f"stop {k}" for k in range(20)], invent.clock(60)
    paths = tables(
        base=({"date": dates, "stop": stops, "hour": hours}, invent.noisy(raw, 1.4, rng)),
        by_stop=({"date": dates, "stop": stops}, invent.noisy(raw.sum(axis=2), 1.4, rng)),
    )
    found = assess(paths)
    noise = of(found, "base")
    assert covers(noise, 1.4)
    assert noise.fit.n == 280
    assert noise.assumes == ("the noise has the same scale in base and by-stop",)
    assert of(found, "by-stop").fit is None
    assert "cannot be seen beside the 24" in of(found, "by-stop").reason
    assert "independent-margins" in ids(found.findings)


@pytest.mark.parametrize("parts", [25, 101])
def test_long_rows_alone_give_the_noise_as_well(tables, invent, parts):
    """A week of hours, a hundred ages: no row is short, and none is too long to say something."""
    rng = np.random.default_rng(parts)
    raw = rng.poisson(80, size=(60, 10, parts))
    trades, ages = [f"trade {k}" for k in range(10)], [f"age {k}" for k in range(parts)]
    paths = tables(
        base=({"region": REGIONS, "trade": trades, "age": ages}, invent.noisy(raw, 2.0, rng)),
        by_trade=({"region": REGIONS, "trade": trades}, invent.noisy(raw.sum(axis=2), 2.0, rng)),
    )
    noise = of(assess(paths), "base")
    assert covers(noise, 2.0)
    assert noise.fit.n == 600


def test_short_rows_serve_both_tables(tables, invent):
    rng = np.random.default_rng(2)
    raw = rng.integers(60, 400, size=(60, 12, 2))
    ages = [f"age {k}" for k in range(12)]
    paths = tables(
        detail=({"region": REGIONS, "age": ages, "sex": SEXES}, invent.noisy(raw, 2.0, rng)),
        persons=({"region": REGIONS, "age": ages}, invent.noisy(raw.sum(axis=2), 2.0, rng)),
    )
    found = assess(paths)
    assert covers(of(found, "detail"), 2.0)
    assert covers(of(found, "persons"), 2.0)
    assert "same scale" in of(found, "persons").assumes[0]


def test_a_known_base_lets_a_margin_have_its_own_scale(tables, invent):
    rng = np.random.default_rng(3)
    raw = rng.integers(60, 400, size=(60, 24, 2))
    raw[:30, :, 1] = raw[30:, :, 0]
    hours = invent.clock(60)
    paths = tables(
        detail=({"region": REGIONS, "hour": hours, "sex": SEXES}, invent.noisy(raw, 1.0, rng)),
        persons=({"region": REGIONS, "hour": hours}, invent.noisy(raw.sum(axis=2), 6.0, rng)),
    )
    pairs = [
        (f"sex=Female,region={a}", f"sex=Male,region={b}")
        for a, b in zip(REGIONS[:30], REGIONS[30:], strict=True)
    ]
    found = assess(paths, pairs=pairs[:4])
    assert covers(of(found, "detail"), 1.0)
    assert of(found, "detail").assumes == ()
    assert covers(of(found, "persons"), 6.0)
    assert of(found, "persons").assumes == ()


def test_margins_that_add_up_to_each_other_tell_their_scale_from_that_of_the_base(tables, invent):
    """Identities of three kinds, without a pair: base to margin, margin to grand total."""
    rng = np.random.default_rng(13)
    raw = rng.integers(60, 400, size=(60, 12, 2))
    ages = [f"age {k}" for k in range(12)]
    paths = tables(
        detail=({"region": REGIONS, "age": ages, "sex": SEXES}, invent.noisy(raw, 1.4, rng)),
        persons=({"region": REGIONS, "age": ages}, invent.noisy(raw.sum(axis=2), 6.0, rng)),
        regions=({"region": REGIONS}, invent.noisy(raw.sum(axis=(1, 2)), 6.0, rng)),
    )
    found = assess(paths)
    assert covers(of(found, "persons"), 6.0)
    assert of(found, "persons").assumes == ("the noise has the same scale in persons and regions",)
    assert covers(of(found, "detail"), 1.4)
    assert not covers(of(found, "detail"), 3.0)
    wide = found.tables[1].recognition
    assert wide.kind == "laplace"
    assert 6.0 < wide.noise_sd < 11.0


def test_what_is_said_of_noise_is_what_was_recognised(tables, invent):
    rng = np.random.default_rng(14)
    raw = rng.integers(60, 400, size=(60, 24, 2))
    hours = invent.clock(60)

    def perturbed(counts):
        return counts + rng.choice(np.arange(-2, 3), p=[0.06, 0.2, 0.48, 0.2, 0.06], size=counts.shape)

    paths = tables(
        detail=({"region": REGIONS, "hour": hours, "sex": SEXES}, perturbed(raw)),
        persons=({"region": REGIONS, "hour": hours}, perturbed(raw.sum(axis=2))),
    )
    found = assess(paths)
    assert found.tables[0].recognition.kind == "bounded"
    said = next(one for one in found.findings if one.id == "noise-recovered")
    assert "bounded within ±2" in said.title
    assert found.privacy.unbounded


@pytest.mark.parametrize("words", [("North", "South", "Land"), ("Male", "Female", "Total")])
def test_a_stated_identity(tables, invent, words):
    """The same machinery for tables that have nothing to do with transport; a worded total is found by itself."""
    rng = np.random.default_rng(4)
    raw = rng.integers(60, 400, size=(60, 2, 6))
    whole = np.concatenate([raw, raw.sum(axis=1, keepdims=True)], axis=1)
    paths = tables(
        t=(
            {"region": REGIONS, "part": list(words), "year": list(range(2001, 2007))},
            invent.noisy(whole, 1.4, rng),
        )
    )
    found = assess(paths, identities=[f"{words[0]} + {words[1]} = {words[2]}"])
    assert covers(found.tables[0].noise, 1.4)
    assert found.tables[0].noise.fit.n >= 300


def test_an_identity_of_one_value_is_a_pair(tables, invent):
    rng = np.random.default_rng(5)
    raw = rng.integers(60, 400, size=(60, 1, 12))
    paths = tables(
        t=(
            {"region": REGIONS, "record": ["sold", "used"], "month": list(range(1, 13))},
            invent.noisy(np.repeat(raw, 2, axis=1), 1.4, rng),
        )
    )
    noise = assess(paths, identities=["sold = used"]).tables[0].noise
    assert covers(noise, 1.4)
    assert noise.fit.n == 720


@pytest.mark.parametrize(
    ("identity", "says"),
    [
        ("Male + Female = Everybody", "no dimension of t (region, sex) has a value 'Everybody'"),
        ("Male = region 01", "these are not values of one dimension of t"),
    ],
)
def test_identities_that_the_table_does_not_know(tables, identity, says):
    paths = tables(t=({"region": REGIONS, "sex": SEXES}, np.full((60, 2), 50)))
    with pytest.raises(SpecError) as caught:
        assess(paths, identities=[identity])
    assert says in str(caught.value)


def ferry(invent, rng, *, scale=1.4, lost=0.0):
    """A ferry between two wharves, a fortnight of half-hourly sailings; `lost` of its riders forget to tap off."""
    sailings = rng.poisson(rng.uniform(10, 150, size=(14, 80)))
    raw = np.zeros((14, 2, 2, 96))
    raw[:, 0, 0, 10:90] = sailings
    raw[:, 1, 1, 12:92] = rng.binomial(sailings, 1 - lost)
    raw[:, 0, 1], raw[:, 1, 0] = rng.poisson(60, size=(14, 96)), rng.poisson(60, size=(14, 96))
    values = np.where(raw > 0, invent.noisy(raw, scale, rng), 0)
    return {
        "date": invent.days(14),
        "tap": ["on", "off"],
        "wharf": ["Beach", "Quay"],
        "time": invent.clock(),
    }, values


PAIR = ("tap=on,wharf=Beach", "tap=off,wharf=Quay")


def test_a_stated_pair_with_its_lag(tables, invent):
    paths = tables(t=ferry(invent, np.random.default_rng(6)))
    found = assess(paths, pairs=[PAIR], lag="30min")
    assert covers(found.tables[0].noise, 1.4)
    (coupled,) = [one for one in found.findings if one.id == "coupled-cells"]
    (detail,) = coupled.numbers["couplings"]
    assert (detail["lag_min"], detail["source"]) == (30, "stated")
    assert 1.3 < detail["gain"] < 1.6
    assert coupled.baseline["sd"] == pytest.approx(detail["sd_one"])
    assert coupled.baseline["sd"] > detail["sd_both"]
    assert detail["width_both"] < detail["width_one"]
    assert "Beach" in coupled.evidence[1]
    assert "Quay" in coupled.evidence[1]


def test_riders_who_forget_to_tap_off_are_refused(tables, invent):
    paths = tables(t=ferry(invent, np.random.default_rng(7), lost=0.08))
    found = assess(paths, pairs=[PAIR], lag="30min")
    assert found.tables[0].noise.fit is None
    assert "these do not look like equal counts" in found.tables[0].noise.reason
    assert "coupled-cells" not in ids(found.findings)
    refused = [one for one in found.checks if one.id == "identity-refused"]
    assert refused[0].outcome == "refused"
    assert found.to_json()["tables"][0]["noise"]["scale"] is None


def test_a_pair_at_the_wrong_lag_is_refused(tables, invent):
    paths = tables(t=ferry(invent, np.random.default_rng(8)))
    found = assess(paths, pairs=[PAIR], lag="45min")
    assert any(one.id == "identity-refused" for one in found.checks)
    # The search still finds the right lag.
    assert covers(found.tables[0].noise, 1.4)
    assert [c.lag for c in found.couplings] == [30]


def test_equal_counts_without_noise(tables, invent):
    dimensions, _ = ferry(invent, np.random.default_rng(9))
    rng = np.random.default_rng(9)
    raw = np.zeros((14, 2, 2, 96))
    raw[:, 0, 0, :94] = raw[:, 1, 1, 2:] = rng.poisson(60, size=(14, 94))
    found = assess(tables(t=(dimensions, raw)), pairs=[PAIR], lag="30min")
    (finding,) = [one for one in found.findings if one.id == "no-noise"]
    assert finding.severity == "high"
    assert found.privacy.unbounded


@pytest.mark.parametrize(
    ("pair", "lag", "says"),
    [
        ((PAIR[0], "tap=off"), "30min", "must name the same dimensions"),
        ((PAIR[0], PAIR[0]), None, "name two different sets of cells"),
        (PAIR, "20min", "--lag must be a multiple of the 15 minutes of a bin in t, got 20 min."),
        ((PAIR[0] + ",time=08:00", PAIR[1] + ",time=08:30"), "30min", "fixes a date or a time"),
    ],
)
def test_pairs_that_cannot_be(tables, invent, pair, lag, says):
    paths = tables(t=ferry(invent, np.random.default_rng(10)))
    with pytest.raises(SpecError) as caught:
        assess(paths, pairs=[pair], lag=lag)
    assert says in str(caught.value)


def test_a_lag_without_times_or_without_a_pair(tables):
    paths = tables(t=({"region": REGIONS, "sex": SEXES}, np.full((60, 2), 50)))
    with pytest.raises(SpecError, match="no dates or times to shift"):
        assess(paths, pairs=[("sex=Male", "sex=Female")], lag="30min")
    with pytest.raises(SpecError, match="give a --pair"):
        assess(paths, lag="30min")


def test_a_pair_of_cells_that_are_never_published(tables):
    dimensions = {"region": REGIONS[:3], "sex": SEXES}
    counts = np.array([[50, 60], [55, 70], [5, 5]])
    paths = tables(t=(dimensions, counts), u=({"region": REGIONS[:3]}, np.array([110, 125, 30])))
    with pytest.raises(DataError, match="there is nothing to compare"):
        assess(paths, pairs=[("region=region 02,sex=Male", "region=region 02,sex=Female")])


def test_too_few_identities_say_how_few(tables, invent):
    rng = np.random.default_rng(11)
    raw = rng.poisson(80, size=(3, 6))
    paths = tables(
        base=({"region": REGIONS[:3], "month": list(range(1, 7))}, invent.noisy(raw, 1.4, rng)),
        year=({"region": REGIONS[:3]}, invent.noisy(raw.sum(axis=1), 1.4, rng)),
    )
    found = assess(paths)
    assert found.tables[0].noise.fit is None
    assert "only 3 identities are at hand; at least 5 are needed" in found.tables[0].noise.reason


def test_rows_with_missing_members_count_as_latent(tables, invent):
    rng = np.random.default_rng(12)
    raw = rng.integers(30, 200, size=(60, 12, 3))
    raw[..., 2] = rng.geometric(0.2, size=(60, 12)) - 1
    months = list(range(1, 13))
    paths = tables(
        base=({"region": REGIONS, "month": months, "kind": ["a", "b", "c"]}, invent.noisy(raw, 1.4, rng)),
        whole=({"region": REGIONS, "month": months}, invent.noisy(raw.sum(axis=2), 1.4, rng)),
    )
    noise = of(assess(paths), "base")
    assert covers(noise, 1.4)
    assert noise.sets[0].to_json()["incomplete"] > 500
    assert any("suppressed counts" in one for one in noise.assumes)


def test_noise_that_grows_with_the_count_has_no_one_scale(tmp_path):
    """A few sums that happen to be alike gave a scale beside the line that says that it grows."""
    rng = np.random.default_rng(11)
    raw = rng.poisson(np.exp(rng.normal(2.5, 1.2, (60, 1)) + rng.normal(0, 0.5, (1, 12))))
    lines = ["district,group,people"]
    for axis, counts in (
        (None, raw),
        (1, raw.sum(axis=1, keepdims=True)),
        (0, raw.sum(axis=0, keepdims=True)),
    ):
        shown = np.maximum(np.rint(counts * (1 + rng.normal(0, 0.1, counts.shape))), 0).astype(int)
        for i, j in np.ndindex(*shown.shape):
            place, group = "Total" if axis == 0 else f"D{i}", "Total" if axis == 1 else f"G{j}"
            lines.append(f"{place},{group},{shown[i, j]}")
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    found = package.assess(tmp_path / "t.csv", attacker=None)
    assert found.tables[0].recognition.kind == "growing"
    assert found.tables[0].noise.fit is None
    assert "grows with the count" in found.tables[0].noise.reason
    assert "noise-recovered" not in {one.id for one in found.findings}
    assert "depends on the count" in found.finding("privacy-loss").title
