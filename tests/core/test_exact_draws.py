"""Drawing: bits revealed as needed give the answer that all 192 bits would, and nothing else gets in."""

import bisect
import itertools
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import DataError, RandomnessError, SpecError
from noisegate.laws import (
    CHUNK,
    Entropy,
    OsNoise,
    OutcomeTable,
    SeededNoise,
    below,
    discrete_gaussian_runs,
    discrete_laplace_runs,
    exact,
)


class Scripted(Entropy):
    """Serves chosen 192-bit numbers to one table: prefixes, then the rest of those left undecided."""

    simulated = True

    def __init__(self, numbers, ends):
        self.numbers, self.ends, self.rest = numbers, ends, []

    def octets(self, count, /):
        raise AssertionError(f"asked for {count} loose octets")

    def words16(self, count, /):
        assert count == len(self.numbers)
        return np.array([number >> 176 for number in self.numbers], dtype=np.uint16)

    def words64(self, count, /):
        if not self.rest:
            undecided = [n for n in self.numbers if self._cut(n, 176)]
            tied = [n for n in undecided if n >> 128 in {end >> 128 for end in self.ends}]
            self.rest = [(n >> 128 << 16) % 2**64 | 0xABCD for n in undecided]
            self.rest += [word for n in tied for word in ((n >> 64) % 2**64, n % 2**64)]
        words, self.rest = self.rest[:count], self.rest[count:]
        assert len(words) == count
        return np.array(words, dtype=np.uint64)

    def _cut(self, number, bits):
        """Whether an interval ends strictly inside the numbers that share all but the last `bits`."""
        first = number >> bits << bits
        return bisect.bisect_right(self.ends, first) != bisect.bisect_right(self.ends, first + 2**bits - 1)


class Constant(Entropy):
    """All bits 0, or all bits 1."""

    simulated = True

    def __init__(self, octet):
        self.octet = octet

    def octets(self, count, /):
        return self.octet * count


class Queue(Entropy):
    """Serves given octets in order."""

    simulated = True

    def __init__(self, octets):
        self.left = octets

    def octets(self, count, /):
        taken, self.left = self.left[:count], self.left[count:]
        return taken


def ends_of(table):
    return list(itertools.accumulate(int(p * 2**192) for p in table.probabilities()))[:-1]


def check_against_all_bits(table, numbers):
    ends = ends_of(table)
    expected = [bisect.bisect_right(ends, number) for number in numbers]
    assert table.draw(len(numbers), entropy=Scripted(numbers, ends)).tolist() == expected


@pytest.mark.parametrize(
    "table",
    [
        discrete_laplace_runs(Fraction(1.4)).top,
        discrete_laplace_runs(Fraction(1000)).digits[0],
        discrete_gaussian_runs(Fraction(30)).top,
        OutcomeTable.from_weights([1, 0, 0, 3]),
        OutcomeTable.from_weights([5]),
    ],
    ids=["laplace", "digit", "gaussian", "aligned", "certain"],
)
def test_numbers_next_to_every_end_fall_on_the_right_side(table):
    near = {0, 2**192 - 1}
    for end in ends_of(table):
        near |= {end + step for step in (-(2**128), -(2**64), -1, 0, 1, 2**64, 2**128, 2**177)}
    numbers = sorted(number for number in near if 0 <= number < 2**192)
    check_against_all_bits(table, numbers)


@given(
    weights=st.lists(st.integers(0, 2**70), min_size=1, max_size=40).filter(any),
    numbers=st.lists(st.integers(0, 2**192 - 1), min_size=1, max_size=20),
    picks=st.lists(st.tuples(st.integers(0, 38), st.integers(-2, 2)), max_size=10),
)
def test_lazy_bits_equal_all_bits(weights, numbers, picks):
    table = OutcomeTable.from_weights(weights)
    ends = ends_of(table)
    near = [ends[place] + step for place, step in picks if place < len(ends)]
    check_against_all_bits(table, numbers + [number for number in near if 0 <= number < 2**192])


def test_a_table_has_the_probabilities_of_its_weights():
    assert OutcomeTable.from_weights([1, 0, 2, 1]).probabilities() == [
        Fraction(1, 4),
        0,
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    assert OutcomeTable.from_weights([1, 0]).probabilities() == [1]


def test_the_most_extreme_bits_give_the_most_and_the_least_likely_value():
    assert exact.discrete_laplace(1.4, 3, entropy=Constant(b"\0")).tolist() == [0, 0, 0]
    far = exact.discrete_laplace(1.4, 1, entropy=Constant(b"\xff"))[0]
    assert 1.4 * 192 * np.log(2) - 3 < abs(far) < 1.4 * 200 * np.log(2)


SAMPLERS = [
    lambda size, entropy: exact.discrete_laplace(1.4, size, entropy=entropy),
    lambda size, entropy: exact.discrete_laplace(12_345, size, entropy=entropy),
    lambda size, entropy: exact.discrete_laplace_above(1.4, 18, size, entropy=entropy),
    lambda size, entropy: exact.rounded_laplace(1.4, size, entropy=entropy),
    lambda size, entropy: exact.rounded_laplace_above(1.4, 18, size, entropy=entropy),
    lambda size, entropy: exact.discrete_gaussian(3, size, entropy=entropy),
    lambda size, entropy: exact.discrete_gaussian_above(3, 10, size, entropy=entropy),
    lambda size, entropy: exact.uniform(5, size, entropy=entropy),
    lambda size, entropy: exact.uniform(10**6, size, entropy=entropy),
    lambda size, entropy: exact.uniform_above(5, 2, size, entropy=entropy),
    lambda size, entropy: exact.geometric(0.3, size, entropy=entropy),
    lambda size, entropy: exact.random_rounding(np.arange(size), 3, entropy=entropy),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("size", [0, 1, CHUNK + 1])
def test_every_sampler_gives_int64_of_the_size_asked_for(sampler, size):
    with np.errstate(all="raise", under="ignore"):
        drawn = sampler(size, OsNoise())
    assert drawn.dtype == np.int64
    assert drawn.shape == (size,)


@pytest.mark.parametrize("size", [0, 1, CHUNK + 1])
def test_trials_are_bools(size):
    drawn = exact.bernoulli(0.3, size, entropy=OsNoise())
    assert drawn.dtype == np.bool_
    assert drawn.shape == (size,)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_seed_repeats_and_chunks_differ(sampler):
    first, second = (sampler(2 * CHUNK, SeededNoise(seed=7)) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first[:CHUNK], first[CHUNK:])


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("wrong", [np.random.default_rng(1), np.random.RandomState(1), None, 7], ids=type)
def test_only_a_noise_source_is_accepted(sampler, wrong):
    with pytest.raises(RandomnessError, match="Entropy"):
        sampler(3, wrong)


def test_trials_accept_only_a_noise_source():
    for call in (exact.bernoulli, lambda q, n, entropy: exact.successes(n, q, entropy=entropy)):
        with pytest.raises(RandomnessError, match="Entropy"):
            call(0.5, 3, entropy=np.random.default_rng(1))


@pytest.mark.parametrize(
    "same", [0.25, Fraction(1, 4), Decimal("0.25"), np.float32(0.25), np.longdouble(0.25)]
)
def test_a_number_is_taken_as_what_it_is_whatever_its_type(same):
    expected = exact.discrete_laplace(Fraction(1, 4), 50, entropy=SeededNoise(seed=1))
    assert np.array_equal(exact.discrete_laplace(same, 50, entropy=SeededNoise(seed=1)), expected)
    assert exact.discrete_laplace_tail(same, 3) == exact.discrete_laplace_tail(Fraction(1, 4), 3)


BAD = [
    0,
    -1,
    -0.5,
    float("nan"),
    float("inf"),
    Decimal("nan"),
    Decimal("1e9999999"),
    "1.4",
    None,
    True,
    1j,
    2**41,
]


@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize("sampler", [exact.discrete_laplace, exact.rounded_laplace, exact.discrete_gaussian])
def test_a_bad_scale_is_one_clear_sentence(sampler, bad):
    with pytest.raises(SpecError, match=r"^(scale|sigma) must be a finite number above 0 .*, got "):
        sampler(bad, 3, entropy=OsNoise())


def test_a_sigma_beyond_the_table_names_the_way_out():
    with pytest.raises(SpecError, match=r"at most|to 32768.*use discrete Laplace"):
        exact.discrete_gaussian(40_000, 3, entropy=OsNoise())


@pytest.mark.parametrize(
    "bad", [-0.1, 1.1, float("nan"), Decimal("-1e-99999"), Decimal("snan"), "0.5", None, True]
)
def test_a_bad_probability_is_one_clear_sentence(bad):
    for call in (exact.geometric, exact.bernoulli):
        with pytest.raises(SpecError, match="success must be a probability from 0 to 1, got "):
            call(bad, 3, entropy=OsNoise())


def test_failures_before_a_success_that_never_comes_are_refused():
    with pytest.raises(SpecError, match="no trial ever succeeds"):
        exact.geometric(0, 3, entropy=OsNoise())


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda bad: exact.discrete_laplace(1, bad, entropy=OsNoise()), "size"),
        (lambda bad: exact.discrete_laplace_above(1, bad, 3, entropy=OsNoise()), "threshold"),
        (lambda bad: exact.discrete_laplace_tail(1, bad), "threshold"),
        (lambda bad: exact.uniform(bad, 3, entropy=OsNoise()), "width"),
        (lambda bad: exact.random_rounding([1, 2], bad, entropy=OsNoise()), "base"),
        (lambda bad: exact.successes(bad, 0.5, entropy=OsNoise()), "trials"),
    ],
)
@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), "3", None, 2**60], ids=repr)
def test_a_bad_whole_number_is_one_clear_sentence(call, name, bad):
    with pytest.raises(SpecError, match=f"^{name} must be a whole number from"):
        call(bad)


def test_uniform_noise_cannot_exceed_its_width():
    with pytest.raises(SpecError, match="threshold must be below the width, 5"):
        exact.uniform_above(5, 5, 3, entropy=OsNoise())


def test_an_unknown_law_has_no_bound():
    with pytest.raises(SpecError, match="Did you mean 'discrete-laplace'"):
        exact.distance_bound("discrete_laplace", 1.4)


@pytest.mark.parametrize("counts", [[1.5, 123_454_321.0], [2**60 + 123_454_321], ["123454321"]])
def test_counts_that_cannot_be_rounded_are_refused_without_showing_them(counts):
    with pytest.raises(DataError) as caught:
        exact.random_rounding(counts, 3, entropy=OsNoise())
    assert "123454321" not in str(caught.value)


def test_random_rounding_goes_to_the_multiples_next_to_a_count():
    counts = np.arange(-30, 30).reshape(6, 10)
    rounded = exact.random_rounding(counts, 7, entropy=OsNoise())
    assert rounded.shape == counts.shape
    assert np.all(rounded % 7 == 0)
    assert np.all(np.abs(rounded - counts) < 7)
    assert np.array_equal(rounded[counts % 7 == 0], counts[counts % 7 == 0])


@pytest.mark.parametrize("bound", [1, 3, 7, 256, 4095, 4096])
def test_uniform_numbers_use_every_accepted_word_equally_often(bound):
    every_word = Queue(np.arange(1 << 16, dtype="<u2")[::-1].tobytes())  # the rejected ones first
    share = (1 << 16) // bound
    drawn = below(bound, share * bound, entropy=every_word)
    assert np.array_equal(np.bincount(drawn), np.full(bound, share))


@pytest.mark.parametrize("bound", [4097, 10**9 + 7, 2**54 + 1])
def test_uniform_numbers_reject_the_incomplete_last_round(bound):
    last = 2**64 // bound * bound - 1
    words = Queue(np.array([last, last + 1, 2**64 - 1, 5, bound + 6], dtype="<u8").tobytes())
    assert below(bound, 3, entropy=words).tolist() == [bound - 1, 5, 6]


def test_draws_above_a_threshold_are_above_it():
    for threshold in (0, 18, 2**53):
        assert exact.discrete_laplace_above(1.4, threshold, 1000, entropy=OsNoise()).min() == threshold + 1
        assert exact.discrete_gaussian_above(1.4, threshold, 1000, entropy=OsNoise()).min() == threshold + 1
    assert set(exact.uniform_above(5, 2, 1000, entropy=OsNoise()).tolist()) == {3, 4, 5}


def test_successes_at_the_ends_of_the_range():
    assert exact.successes(5, 1, entropy=OsNoise()).tolist() == [0, 1, 2, 3, 4]
    for trials, chance in ((5, 0), (0, 1), (0, 0.5), (2**44, Decimal("1e-999999")), (2**44, 1e-40)):
        found = exact.successes(trials, chance, entropy=OsNoise())
        assert found.dtype == np.int64
        assert found.size == 0


def test_successes_rise_and_stay_inside():
    found = exact.successes(10**9, 2e-4, entropy=OsNoise())
    assert np.all(np.diff(found) > 0)
    assert found[0] >= 0
    assert found[-1] < 10**9


def test_failures_beyond_every_domain_are_cut_off_at_the_stated_number():
    assert set(exact.geometric(Decimal("1e-60"), 100, entropy=OsNoise()).tolist()) == {2**62}
    near = exact.geometric(Fraction(1, 2**62), 2000, entropy=OsNoise())
    assert near.min() >= 0
    assert near.max() == 2**62
    assert 600 < np.count_nonzero(near == 2**62) < 870  # 1/e of them


def test_a_tiny_scale_adds_nothing():
    assert not exact.discrete_laplace(1e-3, 1000, entropy=OsNoise()).any()
    assert not exact.discrete_gaussian(1e-3, 1000, entropy=OsNoise()).any()


def test_forked_processes_draw_different_noise():
    source, shares = OsNoise(), []
    for _ in range(2):
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writer, exact.discrete_laplace(1000, 64, entropy=source).tobytes())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            shares.append(pipe.read())
        os.wait()
    shares.append(exact.discrete_laplace(1000, 64, entropy=source).tobytes())
    assert len(shares[0]) == 8 * 64
    assert len(set(shares)) == 3
