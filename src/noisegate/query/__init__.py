"""Questions to a published release: totals with honest intervals."""

from __future__ import annotations

from noisegate.query.answers import Answers
from noisegate.query.askable import DRAWS, Askable
from noisegate.query.drawn import DrawnTables
from noisegate.query.joint import JointSums, Spans, joint_sums, spans, withdrawn_of
from noisegate.query.kept import Kept
from noisegate.query.published import read_release
from noisegate.query.release import OpenRelease, open_release

__all__ = [
    "DRAWS",
    "Answers",
    "Askable",
    "DrawnTables",
    "JointSums",
    "Kept",
    "OpenRelease",
    "Spans",
    "joint_sums",
    "open_release",
    "read_release",
    "spans",
    "withdrawn_of",
]
