"""Totals without noise over cells that have some, and tables on a lattice that rounding alone does not explain."""

import numpy as np
import pytest

from noisegate.assessment import assess

SIZES = (30, 5, 3)
NAMES = ("district", "cause", "year")


def counts_of(rng):
    shape = np.exp(rng.normal(3.0, 0.9, (SIZES[0], 1, 1)) + rng.normal(0, 0.5, SIZES))
    return rng.poisson(shape)


def published(folder, raw, noise, *, totals):
    """One file with all totals among its rows: `noise` is on every count, or only on those that are no totals."""
    full = raw
    for axis in range(3):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    shown = noise(full)
    if not totals:
        inner = tuple(slice(size) for size in SIZES)
        exact, shown = shown, full.copy()
        shown[inner] = exact[inner]
    places = [[f"{name} {k:02d}" for k in range(size)] for name, size in zip(NAMES, SIZES, strict=True)]
    labels = [[*own, "Total"] for own in places]
    rows = [
        f"{labels[0][i]},{labels[1][j]},{labels[2][k]},{shown[i, j, k]}"
        for i, j, k in np.ndindex(*shown.shape)
    ]
    file = folder / "deaths.csv"
    file.write_text("\n".join([",".join((*NAMES, "deaths")), *rows]) + "\n")
    return file


def laplace(scale, rng):
    return lambda raw: raw + np.rint(rng.laplace(0, scale, raw.shape)).astype(np.int64)


def test_exact_totals_over_noisy_cells_are_named(tmp_path):
    """They add up to the same totals, which noise on them would not; the scale of the cells then holds no noise of theirs."""
    held = 0
    for seed in range(2):
        rng = np.random.default_rng([11, seed])
        found = assess(published(tmp_path, counts_of(rng), laplace(2.0, rng), totals=False), attacker=None)
        kinds = {one.summary.name: one.recognition.kind for one in found.tables}
        assert kinds["deaths"] in {"laplace", "unknown"}
        exact = [name for name in kinds if name.startswith("deaths (total over") and kinds[name] == "exact"]
        assert {"deaths (total over year)", "deaths (total over cause)"} <= set(exact)
        low, high = found.tables[0].noise.fit.interval
        held += low <= 2.0 <= high
        bare = [one for one in found.findings if one.id == "unprotected"]
        assert any("no noise, though those of its parts have" in one.title for one in bare)
        assert not any("standard deviation 0;" in one.title for one in found.findings)
    assert held >= 1


def test_noisy_totals_are_not_called_exact(tmp_path):
    for seed in range(2):
        rng = np.random.default_rng([12, seed])
        found = assess(published(tmp_path, counts_of(rng), laplace(2.0, rng), totals=True), attacker=None)
        assert not [one for one in found.tables if one.recognition.kind in {"exact", "hidden-ranges"}]
        assert not [one for one in found.findings if one.id == "unprotected"]


def test_a_threshold_at_the_base_of_rounding_is_no_sum_of_pieces(tmp_path):
    """Nothing lies between multiples of 10: that is rounding, not a valley below twice the cut."""
    rng = np.random.default_rng(13)
    file = published(tmp_path, counts_of(rng), lambda raw: (raw + 5) // 10 * 10, totals=True)
    lines = [line if not line.endswith(",0") else line[:-1] + "<10" for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    found = assess(file, attacker=None)
    assert not [one for one in found.checks if one.id == "summed-cells"]
    assert found.tables[0].recognition.kind == "nearest-rounding"
    assert found.tables[0].recognition.base == 10


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_noise_before_rounding_is_no_rounding_at_random(tmp_path, scale):
    rng = np.random.default_rng(14)
    noisy = laplace(scale, rng)
    file = published(
        tmp_path, counts_of(rng), lambda raw: (np.maximum(noisy(raw), 0) + 2) // 5 * 5, totals=True
    )
    found = assess(file, attacker=None)
    assert found.tables[0].recognition.kind == "unknown"
    assert found.tables[0].noise.fit is None
    assert not [one for one in found.findings if one.id in {"noise-recovered", "privacy-loss"}]
    assert "deaths" in found.not_examined


def test_a_table_that_nobody_shows_a_total_of_is_taken_by_its_name(tmp_path):
    """Totals that are all above the largest shown count are hidden, and still are totals."""
    rng = np.random.default_rng(15)
    file = published(tmp_path, counts_of(rng), lambda raw: raw, totals=True)
    lines = file.read_text().splitlines()
    shown = [line.rsplit(",", 1) for line in lines[1:]]
    top = [f"{labels},{count if int(count) <= 60 else '60+'}" for labels, count in shown]
    file.write_text("\n".join([lines[0], *top]) + "\n")
    found = assess(file, attacker=None)
    assert found.tables[0].to_json(level=0.95)["markers"][0]["low"] == 60
    assert found.tables[0].summary.dimensions == NAMES
    (known,) = [one for one in found.findings if one.id == "known-exactly"]
    assert known.severity == "high"


def test_rounding_that_is_coarser_for_larger_counts_proves_nothing(tmp_path):
    """10 up to 100, 50 up to 1,000, 100 above: whoever takes one base for all excludes raw counts that are possible."""

    def graded(raw):
        base = np.select([raw < 100, raw < 1000], [10, 50], 100)
        return (raw + base // 2) // base * base

    rng = np.random.default_rng(16)
    found = assess(published(tmp_path, 4 * counts_of(rng) + 3, graded, totals=True), attacker=None)
    assert found.tables[0].recognition.kind == "graded-rounding"
    assert "of 50 from 100 on" in found.tables[0].recognition.evidence
    assert not [one for one in found.findings if one.id in {"known-exactly", "known-within-one"}]
    assert [one for one in found.findings if one.id == "privacy-loss"]
