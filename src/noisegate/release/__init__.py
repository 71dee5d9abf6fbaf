"""From raw events to a private, consistent, documented release."""

from __future__ import annotations

from noisegate.release.job import ReleaseResult, release
from noisegate.release.plan import Plan, TablePlan, make_plan

__all__ = ["Plan", "ReleaseResult", "TablePlan", "make_plan", "release"]
