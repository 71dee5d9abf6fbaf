"""What the custodian is told before the budget is spent."""

import re

import numpy as np
import pytest

from noisegate.engine import count
from noisegate.errors import BudgetExceeded
from noisegate.laws import OsNoise
from noisegate.releases import Forecast, job, make_plan, publish_tables, warnings_before_spending

EVENT = {"unit": "event", "epsilon": "1", "margins": "derive"}


def counted(spec):
    return make_plan(spec), count(spec, entropy=OsNoise())


def share_of_empty_rows(plan, counts, times=20):
    empty = rows = 0
    for _ in range(times):
        made = publish_tables(plan, counts, entropy=OsNoise())[plan.base.name]
        empty += np.count_nonzero(~np.isin(made.cells, counts.cells))
        rows += len(made.cells)
    return empty / rows


@pytest.mark.parametrize("below", [1, 2, 3])
def test_the_forecast_comes_true(below, spec_of):
    plan, counts = counted(spec_of({**EVENT, "suppress": {"below": below}}, every="1h"))
    said = Forecast.of(plan, counts).spurious(below)
    assert share_of_empty_rows(plan, counts) == pytest.approx(said, abs=0.02)
    (sentence,) = warnings_before_spending(plan, counts)
    assert sentence.startswith(
        f"about {100 * said:.0f} % of the rows of time-loc will be cells that are really empty"
    )


def test_the_threshold_that_is_advised_would_do_and_a_lower_one_would_not(spec_of):
    plan, counts = counted(spec_of({**EVENT, "epsilon": "4", "suppress": {"below": 1}}, every="1h"))
    (sentence,) = warnings_before_spending(plan, counts)
    better = int(re.search(r"with suppress: \{below: (\d+)\} it would be at most 5 %\.$", sentence)[1])
    assert 1 < better < 20
    for below, quiet in ((better, True), (better - 1, False)):
        privacy = {**EVENT, "epsilon": "4", "suppress": {"below": below}}
        again, counts = counted(spec_of(privacy, every="1h"))
        assert (warnings_before_spending(again, counts) == ()) == quiet
        assert (share_of_empty_rows(again, counts) <= 0.055) == quiet


def test_where_no_threshold_helps_none_is_named(spec_of):
    """So little data under so much noise: what is left above any cut is noise."""
    plan, counts = counted(spec_of({**EVENT, "epsilon": "0.05", "suppress": {"spurious": "0.001"}}))
    (sentence,) = warnings_before_spending(plan, counts)
    assert sentence.endswith("no threshold would do: use wider cells, fewer tables or a larger epsilon.")
    assert "below" not in sentence


def test_a_good_release_and_kept_zeros_are_not_warned_about(spec_of, planted):
    good, counts = counted(planted.spec({"unit": "event", "epsilon": "1", "suppress": {"below": 10}}))
    assert warnings_before_spending(good, counts) == ()
    privacy = {**EVENT, "zeros": "keep", "unsafe": "true", "suppress": {"below": 1}}
    assert warnings_before_spending(*counted(spec_of(privacy))) == ()


def test_without_a_cut_every_empty_cell_is_a_row(spec_of):
    plan, counts = counted(spec_of(EVENT, every="1h"))
    assert Forecast.of(plan, counts).spurious(None) == 1 - len(counts.cells) / plan.base.cells
    assert len(warnings_before_spending(plan, counts)) == 1


def test_reconciled_rows_are_warned_about_from_above(spec_of):
    """Reconciling moves noise out of empty places: the forecast is said to be, and is, an upper bound."""
    privacy = {**EVENT, "margins": "reconcile", "suppress": {"below": 4}}
    plan, counts = counted(spec_of(privacy, every="1h"))
    said = Forecast.of(plan, counts).spurious(4)
    assert share_of_empty_rows(plan, counts, times=3) < said
    assert warnings_before_spending(plan, counts)[0].startswith(f"up to {100 * said:.0f} %")


def test_the_warning_comes_before_the_budget_is_spent(spec_of, ledger, tmp_path, monkeypatch):
    """Whoever stops at the warning has spent nothing."""
    spec = spec_of({**EVENT, "suppress": {"below": 1}}, every="1h")
    said = []

    def warn(sentence):
        said.append(sentence)
        raise KeyboardInterrupt

    drawn = []
    monkeypatch.setattr(job, "publish_tables", lambda *_, **__: drawn.append(1))
    with pytest.raises(KeyboardInterrupt):
        job.release(spec, out=tmp_path / "out", ledger=ledger, warn=warn)
    assert len(said) == 1
    assert drawn == []
    assert not ledger.exists()
    assert not (tmp_path / "out").exists()


def test_the_forecast_is_not_made_for_what_the_ledger_refuses(spec_of, ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "count_slices", lambda *_, **__: pytest.fail("events were read for nothing"))
    with pytest.raises(BudgetExceeded):
        job.release(spec_of({**EVENT, "epsilon": "11"}), out=tmp_path / "out", ledger=ledger)


def test_a_forecast_shows_no_raw_counts(spec_of):
    plan, counts = counted(spec_of(EVENT, every="1h"))
    shown = repr(Forecast.of(plan, counts))
    assert "raw_counts" not in shown
    assert str(plan.base.cells - len(counts.cells)) not in shown
