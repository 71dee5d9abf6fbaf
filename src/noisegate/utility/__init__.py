"""How useful a release is: what noise will cost each question, and what everything together does cost."""

from __future__ import annotations

from noisegate.utility.measure import Measured, measure
from noisegate.utility.outlook import Outlook, QuestionOutlook, outlook
from noisegate.utility.rehearsal import Rehearsed, rehearse
from noisegate.utility.stand_in import StandIn, stand_in

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
