"""Numbers that pages quote without the code that gives them."""

import importlib.util
import re
from pathlib import Path

import pytest

from noisegate import second_algorithm
from noisegate.laws import RoundedLaplace
from noisegate.mechanisms import Residual, loss_by_week, widths
from noisegate.timetable import OFF, Running

DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation"
TABLE = second_algorithm(rounding="nearest", rule="ge")


def test_the_width_of_a_recurring_count():
    noise = RoundedLaplace(1.4)
    known = widths(Residual(total=noise, part=noise, parts=2, cell=TABLE), count=12, weeks=52)
    found = [f"{known.expected[0]:.1f}", f"{known.expected[12]:.2f}", "below 2", f"{known.expected[51]:.2f}"]
    assert known.weeks_until(2) == 33
    assert f"| expected width | {' | '.join(found)} |" in (DOCS / "more-weeks.md").read_text()


def test_the_loss_of_a_year():
    (year,) = loss_by_week([TABLE] * 3, events_per_week=20, weeks=[52])
    assert f"it is {year.tight:.0f}, at a delta of {year.delta:.4f}" in (DOCS / "more-weeks.md").read_text()


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (Running(early_share=0.0), "| 1 |"),
        (Running(early_share=0.1, early_mean_s=60, late_mean_s=120, off_lag_s=30), "| 0.937 |"),
        (Running(early_share=0.5, early_mean_s=60, late_mean_s=120, off_lag_s=30), "| 0.757 |"),
        (Running(early_share=1.0, early_mean_s=60, late_mean_s=120), "| 0.500 |"),
    ],
)
def test_whose_taps_are_missing(running, said):
    cremorne, mosman = running.chance([600, 900], low_s=0, high_s=900, tap=OFF)
    assert cremorne / (cremorne + mosman) == pytest.approx(float(said.strip("| ")), abs=5e-4)
    assert said in (DOCS / "timetables.md").read_text()


def test_hidden_counts_in_ten_minutes(tmp_path, capsys):
    """The pictures of the page are drawn, and the numbers beside them are those that come out."""
    path = DOCS.parent / "_make" / "inference_pictures.py"
    spec = importlib.util.spec_from_file_location("inference_pictures", path)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    maker.main(tmp_path)
    page, said = (DOCS / "hidden-counts.md").read_text(), capsys.readouterr().out
    shown = {Path(one).name for one in re.findall(r"\]\((\S+\.svg)\)", page)}
    assert shown == {one.name for one in tmp_path.iterdir()}
    pattern = r"selection: (\d+) shown.*adds up to (\d+).*taken off: 0 of 10 held.*by -(\d+) of (\d+)\n.*engine: 10 of 10 held.*cell: (.*), truly (\d+)"
    shown, excess, missed, people, interval, truth = re.search(pattern, said, re.DOTALL).groups()
    assert f"the {shown} values that are shown hold {int(excess):,} people too many" in page
    assert f"misses {int(missed):,} of {int(people):,} people" in page
    assert f"{interval} at 95 %. It held {truth}." in page
