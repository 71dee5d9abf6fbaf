"""How useful a release is: what noise will cost each question, and what everything together does cost."""

from __future__ import annotations

from noisegate.utility.measure import Measured, measure
from noisegate.utility.outlook import Outlook, QuestionOutlook, outlook

__all__ = ["Measured", "Outlook", "QuestionOutlook", "measure", "outlook"]
