"""Questions to a published release: totals with honest intervals."""

from __future__ import annotations

from noisegate.query.answers import Answers
from noisegate.query.release import OpenRelease, open_release
from noisegate.query.workload import WorkloadAnswer, answer_workload

__all__ = ["Answers", "OpenRelease", "WorkloadAnswer", "answer_workload", "open_release"]
