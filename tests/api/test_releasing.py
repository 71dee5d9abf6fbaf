"""The custodian's jobs from Python: frames in, a release out, nothing raw in what is printed."""

import datetime as dt

import pyarrow as pa
import pytest

import noisegate
from noisegate import SpecError

TAPS = {
    "card": [f"c{i % 40}" for i in range(400)],
    "line": ["A" if i % 3 else "B" for i in range(400)],
    "at": [dt.datetime(2026, 3, 1 + i % 2, 6 + i % 12) for i in range(400)],  # noqa: DTZ001 - taps are in local time
}


def spec(**changes):
    return {
        "name": "lines",
        "events": {"person": "card"},
        "budget": {"dataset": "cards"},
        "dimensions": {
            "line": {"column": "line", "values": ["A", "B"]},
            "date": {"column": "at", "from": dt.date(2026, 3, 1), "to": "2026-03-02"},
        },
        "tables": {"base": ["line", "date"]},
        "privacy": {"unit": "person-day", "max_cells": 2, "epsilon": 8, "law": "discrete-laplace"},
    } | changes


@pytest.fixture(params=["arrow", "pandas", "polars"])
def frame(request):
    if request.param == "arrow":
        return pa.table(TAPS)
    library = pytest.importorskip(request.param)
    return library.DataFrame(TAPS)


def test_a_frame_is_released_and_opened(frame, tmp_path):
    made = noisegate.release(
        spec(), events=frame, out=tmp_path / "out", ledger=tmp_path / "ledger.db", yes=True
    )
    (answer,) = made.answer(where={"line": "A"}).to_rows()
    counted = 40  # every card is on line A on one of the two days
    assert abs(answer["estimate"] - counted) < 12
    assert (tmp_path / "out" / "card.json").exists()


def test_the_ledger_is_charged(tmp_path):
    book = tmp_path / "ledger.db"
    noisegate.release(spec(), events=pa.table(TAPS), out=tmp_path / "out", ledger=book, yes=True)
    with noisegate.open_ledger(book) as opened:
        assert float(opened.account("cards").spent.epsilon) == 8


def test_a_frame_needs_an_account(tmp_path):
    content = spec()
    del content["budget"]
    with pytest.raises(SpecError, match="whose budget is spent"):
        noisegate.release(content, events=pa.table(TAPS), out=tmp_path / "out")


def test_what_is_no_frame_is_refused(tmp_path):
    with pytest.raises(noisegate.NoisegateError, match="no frame"):
        noisegate.release(spec(), events=object(), out=tmp_path / "out", ledger=tmp_path / "ledger.db")


def test_a_check_spends_nothing_and_tells_what_was_counted(frame):
    found = noisegate.check(spec(), events=frame)
    assert found.tally.events == 400
    assert "400 events read" in repr(found)


def test_a_plan_reads_no_event():
    asked = spec(workload={"by-line": {"by": ["line"]}})
    outlook = noisegate.plan(asked, want=3)
    assert [one.name for one in outlook.questions] == ["by-line"]
