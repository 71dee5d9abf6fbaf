"""Perturbing a table: what is published where, whatever the noise; and the arithmetic of the zeros."""

import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import RandomnessError, SpecError
from noisegate.laws import SeededNoise
from noisegate.mechanisms import Perturbation, PublishedNoise, perturb, perturb_dense
from noisegate.mechanisms.perturb import _nth_zeros

NOISES = [
    PublishedNoise(name="discrete-laplace", scale=Fraction(2)),
    PublishedNoise(name="rounded-laplace", scale=Fraction(7, 5)),
    PublishedNoise(name="discrete-gaussian", scale=Fraction(3)),
]
#: Counts so large that noise cannot make them look like a spurious value.
FAR = 10**9


@st.composite
def tables(draw, *, most=60):
    """The size of a table and its non-zero cells."""
    size = draw(st.integers(1, most))
    cells = draw(st.sets(st.integers(0, size - 1), max_size=size))
    return size, np.array(sorted(cells), dtype=np.int64)


perturbations = st.builds(
    Perturbation,
    noise=st.sampled_from(NOISES),
    threshold=st.sampled_from([None, 0, 1, 2, 5]),
    zeros=st.sampled_from(["perturb", "keep"]),
)


@given(table=tables())
def test_zeros_are_numbered_in_order_past_the_cells_that_are_not(table):
    size, cells = table
    zeros = [cell for cell in range(size) if cell not in set(cells.tolist())]
    ranks = np.arange(len(zeros))
    assert _nth_zeros(ranks, cells).tolist() == zeros


@given(table=tables(most=40), data=st.data())
def test_any_ranks_find_their_zeros(table, data):
    size, cells = table
    zeros = np.setdiff1d(np.arange(size), cells)
    ranks = np.array(
        sorted(data.draw(st.sets(st.integers(0, max(0, len(zeros) - 1)), max_size=len(zeros)))),
        dtype=np.int64,
    )
    assert _nth_zeros(ranks, cells).tolist() == zeros[ranks].tolist()


def test_zeros_are_numbered_in_a_domain_that_no_array_could_hold():
    cells = np.array([0, 1, 5, 10**12, 10**12 + 1, 2 * 10**12], dtype=np.int64)
    ranks = np.array([0, 1, 2, 3, 10**12 - 4, 10**12 - 3, 10**12 + 7], dtype=np.int64)
    found = _nth_zeros(ranks, cells)
    for rank, cell in zip(ranks.tolist(), found.tolist(), strict=True):
        assert cell not in cells
        assert cell - int((cells < cell).sum()) == rank


@pytest.mark.parametrize("way", [perturb, perturb_dense])
@given(table=tables(), perturbation=perturbations, seed=st.integers(0, 2**32))
def test_what_is_published_obeys_the_cut_and_the_zeros(way, table, perturbation, seed):
    size, cells = table
    raw = np.full(len(cells), 3, dtype=np.int64)
    found = way(cells, raw, size=size, perturbation=perturbation, entropy=SeededNoise(seed=seed))
    assert found.cells.dtype == found.values.dtype == np.int64
    assert (np.diff(found.cells) > 0).all()
    assert set(found.cells.tolist()) <= set(range(size))
    if perturbation.threshold is not None:
        assert (found.values >= perturbation.threshold).all()
    if perturbation.zeros == "keep":
        assert set(found.cells.tolist()) <= set(cells.tolist())
        assert (found.values != 0).all()  # absent means zero, so a noisy zero must be absent too
    elif perturbation.threshold is None:
        assert found.cells.tolist() == list(range(size))


@pytest.mark.parametrize("way", [perturb, perturb_dense])
@given(
    table=tables(),
    noise=st.sampled_from(NOISES),
    threshold=st.sampled_from([1, 2, 5]),
    zeros=st.sampled_from(["perturb", "keep"]),
    seed=st.integers(0, 2**32),
)
def test_noise_shown_in_an_empty_cell_never_lands_on_another(way, table, noise, threshold, zeros, seed):
    size, cells = table
    raw = np.full(len(cells), FAR, dtype=np.int64)
    perturbation = Perturbation(noise=noise, threshold=threshold, zeros=zeros)
    found = way(cells, raw, size=size, perturbation=perturbation, entropy=SeededNoise(seed=seed))
    large = found.values > FAR // 2
    assert found.cells[large].tolist() == cells.tolist()
    assert not set(found.cells[~large].tolist()) & set(cells.tolist())
    if zeros == "keep":
        assert large.all()


def test_without_cells_and_without_zeros():
    nothing = np.zeros(0, dtype=np.int64)
    perturbation = Perturbation(noise=NOISES[0], threshold=1)
    full = np.arange(50, dtype=np.int64)
    empty = perturb(nothing, nothing, size=50, perturbation=perturbation, entropy=SeededNoise(seed=1))
    assert 0 < len(empty.cells) < 50
    known = perturb(full, np.full(50, FAR), size=50, perturbation=perturbation, entropy=SeededNoise(seed=1))
    assert known.cells.tolist() == full.tolist()


@pytest.mark.parametrize("threshold", [None, 0])
def test_a_cut_that_zeros_pass_is_done_cell_by_cell(threshold):
    """Half of all zeros are published, so visiting them costs no more than not visiting them."""
    perturbation = Perturbation(noise=NOISES[0], threshold=threshold)
    arguments = (np.array([3]), np.array([7]))
    sparse = perturb(*arguments, size=200, perturbation=perturbation, entropy=SeededNoise(seed=4))
    dense = perturb_dense(*arguments, size=200, perturbation=perturbation, entropy=SeededNoise(seed=4))
    assert sparse.cells.tolist() == dense.cells.tolist()
    assert sparse.values.tolist() == dense.values.tolist()
    assert (len(sparse.cells) == 200) == (threshold is None)


def test_three_billion_cells_cost_what_is_published():
    size = 3 * 10**9
    cells = np.arange(200_000, dtype=np.int64) * 14_999
    raw = np.full(len(cells), 12, dtype=np.int64)
    perturbation = Perturbation(
        noise=PublishedNoise(name="discrete-laplace", scale=Fraction(2)), threshold=21
    )
    expected = size * float(perturbation.noise.passing(21))
    tracemalloc.start()
    began = time.perf_counter()
    found = perturb(cells, raw, size=size, perturbation=perturbation, entropy=SeededNoise(seed=2))
    took_s, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    real = np.isin(found.cells, cells, assume_unique=True)
    assert abs((~real).sum() - expected) < 6 * expected**0.5
    assert took_s < 10
    assert peak < 300e6


def test_the_mechanism_is_the_same_thing_in_words():
    perturbation = Perturbation(noise=NOISES[1], threshold=18, zeros="keep")
    mechanism = perturbation.mechanism
    assert (mechanism.whole_threshold, mechanism.zeros, mechanism.law) == (18, "keep", NOISES[1].law)
    assert float(NOISES[1].passing(18)) == pytest.approx(float(np.exp(NOISES[1].law.logsf(17))), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("gaussian", Fraction(1)),
        ("discrete-laplace", Fraction(0)),
        ("discrete-laplace", Fraction(-1)),
        ("discrete-laplace", Fraction(2**41)),
        ("discrete-gaussian", Fraction(2**16)),
    ],
)
def test_noise_that_cannot_be_drawn_is_refused_when_it_is_made(name, scale):
    with pytest.raises(SpecError):
        PublishedNoise(name=name, scale=scale)


@pytest.mark.parametrize("way", [perturb, perturb_dense])
def test_only_a_noise_source_perturbs(way):
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(RandomnessError):
        way(
            nothing,
            nothing,
            size=3,
            perturbation=Perturbation(noise=NOISES[0]),
            entropy=np.random.default_rng(1),
        )
