"""What making reconciled counts non-negative takes off shown values, as evidence has it and as it was."""

import numpy as np
import pytest

from noisegate.testing import publish_case


def off(case, seed):
    """By how much shown values exceed their raw counts, by the evidence and in truth; and what is lost of it."""
    world = publish_case(case, "reconcile", rng=np.random.default_rng([4711, seed]))
    values, excess = world.published["base"], world.evidence().excess
    shown = ~np.isnan(values)
    one = np.zeros(int(shown.sum()), np.int64)
    said = excess.added(values[shown], one, 1)[0][0]
    return said, (values[shown] - world.counts[shown]).sum(), excess.lost(values[shown], one, 1)[0]


def test_rows_and_columns_pay_for_their_own_empty_cells():
    """One number for the whole table said 40 where 80 were taken off: hidden sums came out too large by that."""
    said, truth, lost = np.mean([off("full or empty", seed) for seed in range(12)], axis=0)
    assert truth < -50
    assert said == pytest.approx(truth, abs=30)
    assert lost > 65


def test_where_hardly_a_cell_is_empty_hardly_anything_is_lost():
    assert np.mean([off("poisson", seed)[2] for seed in range(4)]) < 12
