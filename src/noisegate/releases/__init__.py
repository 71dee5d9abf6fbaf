"""From raw events to a private, consistent, documented release."""

from __future__ import annotations

from noisegate.releases.job import ReleaseResult, release
from noisegate.releases.plan import Plan, TablePlan, make_plan

__all__ = ["Plan", "ReleaseResult", "TablePlan", "make_plan", "release"]
