"""From what was recovered to findings and checks: one module for each question that is asked of a release."""

from __future__ import annotations

from noisegate.assess.findings.card import about_card
from noisegate.assess.findings.cells import about_cells, about_no_inference, about_score
from noisegate.assess.findings.couplings import about_couplings
from noisegate.assess.findings.loss import about_loss
from noisegate.assess.findings.margins import about_margins
from noisegate.assess.findings.noise import about_noise
from noisegate.assess.findings.thresholds import about_thresholds
from noisegate.assess.findings.usefulness import about_usefulness
from noisegate.assess.findings.zeros import about_zeros

__all__ = [
    "about_card",
    "about_cells",
    "about_couplings",
    "about_loss",
    "about_margins",
    "about_no_inference",
    "about_noise",
    "about_score",
    "about_thresholds",
    "about_usefulness",
    "about_zeros",
]
