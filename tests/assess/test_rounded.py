"""Rounded and exact tables: one account of how they were made, and no line that contradicts it."""

import numpy as np
import pytest

import noisegate
from noisegate.recovery import find_lattice
from noisegate.testing.count_laws import COUNT_LAWS

_MEASURES = 24


def _waits(tmp_path, *, rounded_total):
    """Boards by measure rounded to 5, with `*` below 5, and England beside them."""
    rng = np.random.default_rng(5)
    raw = rng.poisson(30 + rng.gamma(0.8, 60.0, size=(_MEASURES, 30)))
    raw[:4, 0] = (1, 2, 3, 4)
    shown = (5 * np.floor((raw + 2.5) / 5)).astype(int)
    lines = ["measure,board,count"]
    lines += [
        f"m{i:02d},b{j:02d},{'*' if 0 < raw[i, j] < 5 else shown[i, j]}"
        for i in range(_MEASURES)
        for j in range(30)
    ]
    total = raw.sum(axis=1)
    if rounded_total:
        total = 5 * np.floor((total + 2.5) / 5)
    england = ["measure,count", *(f"m{i:02d},{int(total[i])}" for i in range(_MEASURES))]
    paths = [tmp_path / "boards.csv", tmp_path / "england.csv"]
    for path, text in zip(paths, (lines, england), strict=True):
        path.write_text("\n".join(text) + "\n")
    return paths


@pytest.mark.parametrize("rounded_total", [False, True])
def test_what_is_rounded_is_not_also_called_noisy(tmp_path, rounded_total):
    found = noisegate.assess(_waits(tmp_path, rounded_total=rounded_total))
    base = found.tables[0]
    assert base.recognition.kind == "nearest-rounding"
    assert base.recognition.base == 5
    assert base.noise.fit is None
    assert "rounded, not noisy" in base.noise.reason
    said = [one.title for one in (*found.findings, *found.checks)]
    for words in (
        "Laplace",
        "Gaussian",
        "uniform",
        "perturbed independently",
        "--noise",
        "no noise was recovered",
    ):
        assert not [title for title in said if words in title], words
    assert found.privacy.unbounded
    assert found.privacy.event_epsilon is None


def test_cells_of_rounded_tables_have_their_bounds(tmp_path):
    """At level 1, with an estimate only where one count is left; the truth lies inside."""
    found = noisegate.assess(_waits(tmp_path, rounded_total=True)).cells.to_pylist()
    rng = np.random.default_rng(5)
    raw = rng.poisson(30 + rng.gamma(0.8, 60.0, size=(_MEASURES, 30)))
    raw[:4, 0] = (1, 2, 3, 4)
    assert len(found) == raw.size
    for row in found:
        truth = raw[int(row["measure"][1:]), int(row["board"][1:])]
        assert row["lo"] <= truth <= row["hi"]
        assert row["level"] == 1
        assert (row["mean"] is None) == (row["lo"] < row["hi"])
    assert sum(row["published"] is None for row in found) == ((raw > 0) & (raw < 5)).sum()


def test_exact_tables_say_so_once_and_ask_for_nothing(tmp_path):
    counts = np.random.default_rng(2).integers(0, 90, (30, 4))
    lines = ["place,group,count"]
    for k, row in enumerate(counts.tolist()):
        lines += [f"p{k},g{j},{value}" for j, value in enumerate(row)]
        lines.append(f"p{k},Total,{sum(row)}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    found = noisegate.assess(path)
    said = [one.title for one in (*found.findings, *found.checks)]
    assert not [title for title in said if "--noise" in title or "is not known" in title]
    assert any("stand as they were counted" in title for title in said)
    assert [one.id for one in found.findings] == ["unprotected"]


def test_a_threshold_of_thirty_thousand_takes_no_more_memory_than_one_of_ten(tmp_path):
    """Totals of whole electorates, one of them hidden: the least count that is shown is large."""
    rng = np.random.default_rng(4)
    raw = rng.integers(1_200, 2_400, size=(60, 18))
    shown = raw - raw % 3 + 3 * (rng.random(raw.shape) * 3 < raw % 3)
    total = raw.sum(axis=1)
    total = total - total % 3 + 3 * (rng.random(60) * 3 < total % 3)
    lines = ["place,age,count"]
    for k in range(60):
        ages = shown[k].tolist() if k else [""] * 18
        lines += [f"p{k},a{j:02d},{value}" for j, value in enumerate(ages)]
        lines.append(f"p{k},Total,{int(total[k]) if k else ''}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    found = noisegate.assess(path)
    assert found.tables[0].recognition.base == 3


def _wards(tmp_path, *, total):
    path = tmp_path / "wards.csv"
    path.write_text(f"Ward,2021,2022\nAbbey,12,15\nManor,23,c\nCastle,31,28\nTotal,{total},48\n")
    return noisegate.assess(path)


def test_too_few_sums_to_tell_still_give_what_follows_if_counts_are_exact(tmp_path):
    found = _wards(tmp_path, total=66)
    exact = found.finding("known-exactly")
    assert exact.title.startswith("If the shown counts are exact, 1 of 1 counts")
    assert exact.severity == "medium"
    assert (exact.numbers["listed"][0]["low"], exact.numbers["listed"][0]["high"]) == (5, 5)
    assert any("too few to tell" in text for text in exact.assumptions)
    assert found.tables[0].recognition.kind == "unknown"
    said = [one.title for one in found.checks]
    assert not [
        title for title in said if "no row has all its cells" in title or "no identity is known" in title
    ]


@pytest.mark.parametrize("counts", [[[3, 4], [6, 12]], [[3, 4], [6, 3]], [[9, 3, 4], [3, 9, 3], [5, 4, 9]]])
def test_signs_in_a_small_table_are_solved_whatever_they_seem_to_stand_for(tmp_path, counts):
    """A gap below one or two counts is no rule, nor is one that totals contradict; a sign in every row and column."""
    raw = np.array(counts)
    hidden = np.eye(len(raw), dtype=bool) if len(raw) == 3 else np.eye(2, dtype=bool)[::-1]
    lines = ["ward," + ",".join(f"illness {k}" for k in range(len(raw))) + ",Total"]
    for ward, (row, signs) in enumerate(zip(raw, hidden, strict=True)):
        lines.append(f"{ward}," + ",".join(np.where(signs, "*", row.astype(str))) + f",{row.sum()}")
    lines.append("Total," + ",".join(raw.sum(axis=0).astype(str)) + f",{raw.sum()}")
    path = tmp_path / "wards.csv"
    path.write_text("\n".join(lines) + "\n")
    exact = noisegate.assess(path).finding("known-exactly")
    assert exact is not None
    known = sorted((one["low"], one["high"]) for one in exact.numbers["listed"])
    assert known == [(n, n) for n in sorted(raw[hidden].tolist())]


def test_a_sum_that_does_not_hold_gives_no_bounds(tmp_path):
    assert _wards(tmp_path, total=64).finding("known-exactly") is None


def test_a_district_that_its_areas_tell_makes_exact_tables_no_worse(tmp_path):
    """A census of small areas by age, with and without the district of each area: few ones among many, and low both times."""
    rng = np.random.default_rng(8)
    counts = rng.poisson(np.linspace(40, 1.5, 12) * np.ones((60, 1)))
    found = {}
    for nested in (False, True):
        lines = [f"{'district,' if nested else ''}area,age,count"]
        for k, row in enumerate(counts.tolist()):
            start = f"d{k // 10},a{k:02d}" if nested else f"a{k:02d}"
            lines += [f"{start},{age},{value}" for age, value in enumerate(row)]
            lines.append(f"{start},Total,{sum(row)}")
        path = tmp_path / f"nested-{nested}.csv"
        path.write_text("\n".join(lines) + "\n")
        found[nested] = noisegate.assess(path, attacker=None).finding("unprotected")
    assert found[False].severity == found[True].severity == "low"


def test_rounded_tables_are_bounded_and_not_inferred_by_a_law(tmp_path):
    """What rounding leaves of each count is a range: extremes prove counts, no posterior is made up beside them."""
    rng = np.random.default_rng(6)
    raw = rng.integers(0, 40, size=(200, 2))

    def rounded(counts):
        return counts - counts % 3 + 3 * (rng.random(counts.shape) * 3 < counts % 3)

    parts, total = rounded(raw), rounded(raw.sum(axis=1))
    lines = ["place,sex,count"]
    for k in range(200):
        lines += [f"p{k:03d},F,{parts[k, 0]}", f"p{k:03d},M,{parts[k, 1]}", f"p{k:03d},Total,{total[k]}"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    found = noisegate.assess(path)
    assert found.tables[0].recognition.kind == "random-rounding"
    assert found.inference is None
    listed = found.finding("known-exactly").numbers["listed"]
    extreme = np.abs(total - parts.sum(axis=1)) == 6
    assert sum(one["table"] == "t" for one in listed) >= 2 * extreme.sum() > 0
    truth = {(f"p{k:03d}", "FM"[j]): int(raw[k, j]) for k in range(200) for j in range(2)}
    for one in listed:
        if one["table"] == "t":
            assert one["low"] == one["high"] == truth[one["place"], one["sex"]]
        assert one["proof"]


@pytest.mark.parametrize("kind", ["exact", "hidden", "rounded", "laplace", "bounded"])
def test_every_finding_has_a_number_to_be_compared_with(tmp_path, kind):
    """What somebody without the tables, or without their margins, would get."""
    rng = np.random.default_rng(9)
    raw = rng.poisson(rng.gamma(1.0, 15.0, size=(400, 4)))
    total = raw.sum(axis=1)
    noise = {
        "laplace": lambda size: np.rint(rng.laplace(scale=2.0, size=size)).astype(int),
        "bounded": lambda size: rng.integers(-2, 3, size=size),
    }.get(kind, lambda size: np.zeros(size, int))
    parts, total = np.maximum(raw + noise(raw.shape), 0), np.maximum(total + noise(400), 0)
    if kind == "rounded":
        parts, total = (one - one % 3 + 3 * (rng.random(one.shape) * 3 < one % 3) for one in (parts, total))
    lines = ["place,group,count"]
    for k in range(400):
        texts = ["<5" if kind == "hidden" and 0 < n < 5 else str(n) for n in parts[k].tolist()]
        lines += [f"p{k:03d},g{j},{text}" for j, text in enumerate(texts)]
        lines.append(f"p{k:03d},Total,{total[k]}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    found = noisegate.assess(path)
    assert found.findings
    for one in found.findings:
        numbers = [value for value in one.baseline.values() if isinstance(value, int | float)]
        assert one.baseline["from"], one.id
        assert numbers, (one.id, one.baseline)


@pytest.mark.parametrize("noisy", [False, True])
def test_totals_that_are_not_rounded_narrow_a_rounded_table(tmp_path, noisy):
    """Rounding alone explains what exact totals differ by; noise on them is not taken for it, and nothing false is proven."""
    rng = np.random.default_rng(3)
    raw = rng.poisson(rng.gamma(2.0, 60.0, size=(1500, 2)))
    shown = (5 * np.floor((raw + 2.5) / 5)).astype(int)
    total = raw.sum(axis=1) + np.rint(rng.laplace(scale=1.4, size=1500)).astype(int) * noisy
    base = ["place,group,count"]
    base += [f"p{i},{'ab'[j]},{shown[i, j]}" for i in range(1500) for j in range(2)]
    (tmp_path / "base.csv").write_text("\n".join(base))
    lines = ["place,count", *(f"p{i},{total[i]}" for i in range(1500))]
    (tmp_path / "totals.csv").write_text("\n".join(lines))
    found = noisegate.assess([tmp_path / "base.csv", tmp_path / "totals.csv"])
    made = {table.summary.name: table.recognition.kind for table in found.tables}
    assert made["totals"] == ("unknown" if noisy else "exact")
    cells = found.cells.to_pylist()
    truth = [raw[int(row["place"][1:]), "ab".index(row["group"])] for row in cells]
    width = np.array([row["hi"] - row["lo"] for row in cells])
    if noisy:
        return
    assert all(row["lo"] <= count <= row["hi"] for row, count in zip(cells, truth, strict=True))
    assert (width < 4).mean() > 0.3
    assert any("base was rounded and totals was not" in one.title for one in found.findings)


def test_a_rounded_table_alone_has_its_bounds(tmp_path):
    counts = 5 * np.random.default_rng(4).integers(1, 30, 200)
    lines = ["place,count", *(f"p{i},{count}" for i, count in enumerate(counts.tolist()))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    cells = noisegate.assess([tmp_path / "t.csv"]).cells
    assert cells is not None
    assert {row["hi"] - row["lo"] for row in cells.to_pylist()} == {8}


@pytest.mark.parametrize(("values", "base"), [([7], 1), ([0, 7], 7), ([7, 14], 7), ([0], 1)])
def test_one_value_over_and_over_is_no_lattice(values, base):
    assert find_lattice(np.repeat(values, 200)).base == base


def test_large_counts_that_are_there_again_tell_only_once():
    """Two totals of counts that never vary have a divisor; many different ones that have it are rounded."""
    assert find_lattice(np.repeat([360, 585], 200)).base == 1
    assert find_lattice(45 * np.arange(8, 20)).base == 45


def test_hidden_ranges_are_inferred_without_a_murmur(tmp_path):
    """Counts as they are and zeros shown: no raw count leads to some values of the rule that hides, and nothing is said of infinity."""
    rng = np.random.default_rng(11)
    lines = ["Hospital;Diagnosis;Sex;2019;2020;2021"]
    for place in range(12):
        for illness in range(20):
            both = rng.poisson(4, (2, 3))
            for sex, row in (("men", both[0]), ("women", both[1]), ("both", both.sum(axis=0))):
                shown = ";".join("<5" if 0 < n < 5 else str(n) for n in row.tolist())
                lines.append(f"Hospital {place};D{illness:02d};{sex};{shown}")
    path = tmp_path / "hospitals.csv"
    path.write_text("\n".join(lines) + "\n")
    found = noisegate.assess(path)
    assert found.finding("known-exactly").severity == "high"
    assert found.tables[0].recognition.kind == "hidden-ranges"


@pytest.mark.parametrize(("how", "base"), [("random", 3), ("random", 5), ("nearest", 10)])
@pytest.mark.parametrize("law", ["two-humped", "parties of three", "fixed"])
def test_a_hump_between_two_multiples_does_not_decide_how_counts_were_rounded(tmp_path, law, how, base):
    """Few sums of many small counts: what rounding took from each is told by the sums, so nothing is named that is false, nor proven."""
    for seed in range(4):
        rng = np.random.default_rng([91, seed])
        raw = COUNT_LAWS[law](rng, 30, 16).reshape(30, 16)
        tables = {"cells": raw, "rows": raw.sum(axis=1), "columns": raw.sum(axis=0)}
        if how == "random":
            shown = {
                n: base * (c // base + (rng.random(c.shape) < c % base / base)) for n, c in tables.items()
            }
        else:
            shown = {n: base * np.floor(c / base + 0.5).astype(int) for n, c in tables.items()}
        frames = {
            "cells": {
                "row": [f"r{i:02d}" for i in range(30) for _ in range(16)],
                "column": [f"c{j:02d}" for _ in range(30) for j in range(16)],
                "count": shown["cells"].ravel(),
            },
            "rows": {"row": [f"r{i:02d}" for i in range(30)], "count": shown["rows"]},
            "columns": {"column": [f"c{j:02d}" for j in range(16)], "count": shown["columns"]},
        }
        paths = []
        for name, columns in frames.items():
            paths.append(tmp_path / f"{name}.csv")
            lines = [
                ",".join(columns),
                *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
            ]
            paths[-1].write_text("\n".join(lines))
        found = noisegate.assess(paths, attacker=None)
        assert found.tables[0].recognition.kind in {f"{how}-rounding", "rounding", "unknown"}
        if found.known_counts is not None:
            bounds = found.known_counts.bounds
            assert ((bounds.low[:480] <= raw.ravel()) & (raw.ravel() <= bounds.high[:480])).all()


def _rounded_to_five(path, *, derived):
    rng = np.random.default_rng(6)
    raw = rng.poisson(np.exp(rng.normal(2.5, 1.0, (30, 1)) + rng.normal(0, 0.5, (1, 8))))
    shown = 5 * np.rint(raw / 5).astype(int)
    rows = shown.sum(axis=1) if derived else 5 * np.rint(raw.sum(axis=1) / 5).astype(int)
    whole = rows.sum() if derived else 5 * round(raw.sum() / 5)
    lines = ["district,group,people", *(f"D{i},G{j},{shown[i, j]}" for i, j in np.ndindex(*shown.shape))]
    lines += [*(f"D{i},Total,{n}" for i, n in enumerate(rows.tolist())), f"Total,Total,{whole}"]
    lines += [f"Total,G{j},{n}" for j, n in enumerate((shown.sum(axis=0)).tolist()) if derived]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_sums_of_rounded_counts_are_called_that(tmp_path):
    """They were taken for counts rounded by themselves, to within 2 or 4, and the grand total for one that nothing protects."""
    found = noisegate.assess(_rounded_to_five(tmp_path / "t.csv", derived=True), attacker=None)
    assert [one.recognition.kind for one in found.tables] == ["rounding", "summed", "summed", "summed"]
    assert found.unrecognised == {}
    other = noisegate.assess(_rounded_to_five(tmp_path / "o.csv", derived=False), attacker=None)
    assert "summed" not in {one.recognition.kind for one in other.tables}


def test_a_total_over_counts_that_were_rounded_up_is_a_total(tmp_path):
    """Sixty parts that are rounded up to tens are far above it, and it was kept as one more place."""
    rng = np.random.default_rng(11)
    raw = rng.poisson(np.exp(rng.normal(2.5, 1.2, (60, 1)) + rng.normal(0, 0.5, (1, 6))))
    lines = ["district,group,people"]
    for i, j in np.ndindex(*raw.shape):
        lines.append(f"D{i},G{j},{-(-raw[i, j] // 10) * 10}")
    lines += [f"Total,G{j},{-(-count // 10) * 10}" for j, count in enumerate(raw.sum(axis=0).tolist())]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    found = noisegate.assess(tmp_path / "t.csv", attacker=None)
    assert [one.size for one in found.structure.tables] == [360, 6]
