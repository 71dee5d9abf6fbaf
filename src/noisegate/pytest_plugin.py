"""A fixture for other people's tests: tables that give too much away fail a test.

pytest finds it by itself where noisegate is installed (`-p no:noisegate` switches it off). It loads nothing until it is used.

    def test_what_we_publish(noisegate_assess):
        noisegate_assess("release/", fail_on="medium")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from noisegate.api.assessing import OpenAssessment

#: How much of each finding a failure shows.
_LINES = 3


@pytest.fixture(scope="session")
def noisegate_assess() -> Callable[..., OpenAssessment]:
    """Assess published tables and fail if anything is found that is so severe: `noisegate_assess(tables, fail_on="medium")`.

    Takes what `noisegate.assess` takes, and gives the assessment back, for what else a test wants to look at. `fail_on` is
    "low", "medium" or "high", or "unrecognised", which also fails tables of which nobody can say how they are protected; None never fails.
    """
    return _assess


def _assess(tables: Any, /, *, fail_on: str | None = "medium", **options: Any) -> OpenAssessment:
    __tracebackhide__ = True
    from noisegate.api.assessing import assess

    found = assess(tables, **options)
    failed = [] if fail_on is None else found.failures(fail_on)
    if failed:
        pytest.fail(_message(found, failed, fail_on), pytrace=False)
    return found


def _message(found: OpenAssessment, failed: list[str], gate: str | None, /) -> str:
    """The findings that failed a test, each with its first evidence and what to do."""
    lines = [f"noisegate finds {len(failed)} that fail on {gate}: {', '.join(dict.fromkeys(failed))}"]
    for one in (one for one in found.findings if one.id in failed):
        lines += [f"{one.severity.upper()} {one.id}: {one.title}"]
        lines += [f"  - {line}" for line in one.evidence[:_LINES]]
        lines += [f"  Advice: {one.advice}"]
    return "\n".join(lines)
