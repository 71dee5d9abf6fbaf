"""ResidualIdentities: what is kept of published values, and what is refused."""

import numpy as np
import pytest

from noisegate.errors import DataError, SpecError
from noisegate.recovery import ResidualIdentities, margin_identities, pair_identities, residual_identities

NAN = np.nan


def test_pairs_with_a_suppressed_side_are_left_out_unless_asked_for():
    both = pair_identities([88, 33, 20, NAN], [86, 32, NAN, 19], cuts=(18, 18))
    assert both.low.tolist() == [-2, -1]
    assert both.held == "smaller"
    any_side = pair_identities([88, 33, 20, NAN], [86, 32, NAN, 19], cuts=(18, 18), one_sided=True)
    assert any_side.held == "larger"
    assert any_side.seen.tolist() == [True, True, False, False]
    # 20 with nothing: the partner is at most 17, so the residual at most -3. Nothing with 19: at least 2.
    assert any_side.high[2] == -3
    assert any_side.low[2] == -np.inf
    assert any_side.low[3] == 2
    assert any_side.high[3] == np.inf


def test_a_pair_of_nothing_is_nothing():
    assert len(pair_identities([NAN, 20], [NAN, 21], cuts=(18, 18), one_sided=True)) == 1


def test_margins_count_noises_and_missing_members():
    members = np.array([[20, 30, 40.0], [20, NAN, 40], [NAN, NAN, NAN], [25, NAN, 30]])
    absent = np.array([[False] * 3, [False] * 3, [False] * 3, [False, True, False]])
    found = margin_identities([91, 70, 50, NAN], members, cuts=(18, 35), absent=absent)
    assert found.low.tolist() == [1, 10]
    assert found.noises.tolist() == [[3, 1], [2, 1]]
    assert found.missing.tolist() == [0, 1]
    assert found.floor.tolist() == [35 - 90, 35 - 60]
    whole_row = margin_identities([91, 70, 50, 56], members, cuts=(18, 35), absent=absent)
    assert whole_row.missing.tolist() == [0, 1, 0]
    assert whole_row.low.tolist() == [1, 10, 1]


def test_rows_with_too_many_missing_members_are_left_out():
    members = np.array([[20, NAN, NAN, 40.0], [20, NAN, 30, 40]])
    assert len(margin_identities([70, 95], members, cuts=(18, 35), most_missing=1)) == 1
    assert len(margin_identities([70, 95], members, cuts=(18, 35), most_missing=0)) == 0


def test_the_grid_of_values_is_their_greatest_common_divisor():
    assert pair_identities([15, 30], [20, 30]).grid == 5
    assert pair_identities([15, 31], [20, 30]).grid == 1
    assert pair_identities([15.5, 31], [20, 30]).grid == 0


def test_taking_rows_keeps_the_rest():
    found = pair_identities([88, 33, 50], [86, 32, 52], cuts=(18, 18))
    some = found.take(np.array([0, 2]))
    assert some.low.tolist() == [-2, 2]
    assert (some.edge, some.held, some.tables, some.grid) == (
        found.edge,
        found.held,
        found.tables,
        found.grid,
    )


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: pair_identities([1, 2], [1]), DataError, "found 2 first and 1 second"),
        (lambda: pair_identities([[1, 2]], [[1, 2]]), DataError, "found 2 dimensions"),
        (lambda: pair_identities([np.inf], [1]), DataError, "finite, or not-a-number where suppressed"),
        (
            lambda: pair_identities([17, 20], [20, 20], cuts=(18, 18)),
            DataError,
            "1 published values lie below",
        ),
        (lambda: pair_identities([20], [20], cuts=(NAN, 18)), SpecError, "minus infinity for no cut"),
        (lambda: pair_identities([20], [NAN], one_sided=True), SpecError, "need the cut of either side"),
        (lambda: margin_identities([1, 2], [[1, 2]]), DataError, "one row for each of the 2 totals"),
        (lambda: margin_identities([50], [[20, NAN]]), SpecError, "members are suppressed"),
        (lambda: margin_identities([50], [[20, 30]], absent=[[True]]), DataError, "shape of the members"),
        (lambda: residual_identities([1, NAN], noises=(1, 1)), DataError, "may not be missing"),
        (lambda: residual_identities([1, 2], noises=(0, 0)), DataError, "at least one noise"),
    ],
)
def test_what_cannot_be_an_identity_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_identities_check_their_shapes():
    good = residual_identities([1.0, 2.0], noises=(1, 1))
    with pytest.raises(DataError, match="one residual, one floor"):
        ResidualIdentities(
            held="members",
            tables=("a", "b"),
            noises=good.noises,
            low=good.low,
            high=good.high[:1],
            floor=good.floor,
            missing=good.missing,
            size=good.size,
            edge=0.0,
            shift=0.0,
            cut=-np.inf,
            grid=1,
        )
