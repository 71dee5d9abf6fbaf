"""How useful a release is: what noise will cost each question, and what everything together does cost."""

from __future__ import annotations

from noisegate.workload.error_parts import Measured
from noisegate.workload.measure import measure
from noisegate.workload.outlook import Outlook, QuestionOutlook, outlook
from noisegate.workload.rehearsal import Rehearsed, StandIn, rehearse, stand_in

__all__ = [
    "Measured",
    "Outlook",
    "QuestionOutlook",
    "Rehearsed",
    "StandIn",
    "measure",
    "outlook",
    "rehearse",
    "stand_in",
]
