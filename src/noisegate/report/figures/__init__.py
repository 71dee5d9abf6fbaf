"""The figures of a report: which can be drawn from an assessment, each with its caption and its alternative."""

from __future__ import annotations

from noisegate.report.figures.cells import cell_figures
from noisegate.report.figures.detection import detection_figures
from noisegate.report.figures.noise import noise_figures
from noisegate.report.figures.responses import response_figures
from noisegate.report.figures.services import service_figures
from noisegate.report.figures.utility import utility_figures
from noisegate.report.figures.weeks import week_figures

__all__ = [
    "cell_figures",
    "detection_figures",
    "noise_figures",
    "response_figures",
    "service_figures",
    "utility_figures",
    "week_figures",
]
