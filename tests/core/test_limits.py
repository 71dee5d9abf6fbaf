"""The table of limits: one place, frozen, and other values only for a while."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from noisegate import limits
from noisegate.errors import SpecError


def test_other_limits_hold_only_within_the_block_and_in_all_its_threads():
    before = limits.current()
    with limits.override(weeks=2, file_columns=3) as inside:
        assert (inside.weeks, limits.current().file_columns) == (2, 3)
        with limits.override(weeks=1):
            assert (limits.current().weeks, limits.current().file_columns) == (1, 3)
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(limits.current).result().weeks == 1
        assert limits.current().weeks == 2
    assert limits.current() is before


def test_former_limits_come_back_after_an_error():
    with pytest.raises(RuntimeError), limits.override(weeks=2):
        raise RuntimeError
    assert limits.current().weeks == 520


@pytest.mark.parametrize("bad", [-1, 1.5, True, "many"])
def test_a_limit_is_a_whole_number(bad):
    with pytest.raises(SpecError, match="the limit weeks must be a whole number of at least 0"):
        limits.Limits(weeks=bad)


def test_an_unknown_limit_is_named():
    refused = pytest.raises(SpecError, match=r"limit must be one of .*, got 'most_of_all'")
    with refused, limits.override(most_of_all=1):
        pass


def test_every_limit_says_what_it_bounds_and_none_can_be_set():
    assert all(limits.help_of(one.name).endswith(".") for one in fields(limits.Limits))
    with pytest.raises(FrozenInstanceError):
        limits.current().weeks = 3


def test_every_limit_is_asked_for_somewhere():
    source = Path(limits.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    assert [one.name for one in fields(limits.Limits) if f"limits.current().{one.name}" not in text] == []
