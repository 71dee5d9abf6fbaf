"""From what was recovered to findings and checks: one module for each question that is asked of a release."""

from __future__ import annotations

from noisegate.assessment.findings.card import about_card
from noisegate.assessment.findings.cells import about_cells, about_no_inference, about_score
from noisegate.assessment.findings.couplings import about_couplings
from noisegate.assessment.findings.loss import about_loss
from noisegate.assessment.findings.margins import about_margins
from noisegate.assessment.findings.noise import about_noise
from noisegate.assessment.findings.thresholds import about_thresholds
from noisegate.assessment.findings.usefulness import about_usefulness
from noisegate.assessment.findings.zeros import about_zeros

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
