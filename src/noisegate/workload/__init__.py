"""How useful a release is: what noise will cost each question, and what everything together does cost."""

from __future__ import annotations

from noisegate.workload.answered import Answered, WorkloadAnswer, answer_questions, answer_workload
from noisegate.workload.error_parts import STAGES, ErrorParts, Measured, Trio, error_parts, usual_trio
from noisegate.workload.frame import (
    WorkloadSource,
    find_workload,
    frame_of_card,
    frame_of_spec,
    stated_dimension,
    wanted_by_spec,
)
from noisegate.workload.measure import Workload, measure
from noisegate.workload.needed import BudgetWay, NeededBudget, WantedAnswer, needed_budget
from noisegate.workload.noised import MissingRows, draw_tables
from noisegate.workload.outlook import Outlook, QuestionOutlook, outlook
from noisegate.workload.raw import count_file, merged_truth
from noisegate.workload.rehearsal import Rehearsed, StandIn, rehearse, stand_in
from noisegate.workload.threshold_choice import ThresholdOutlook, compared_thresholds
from noisegate.workload.truth_file import Truth, TruthFile
from noisegate.workload.usefulness import Usefulness, usefulness
from noisegate.workload.want import Want, Wants, parse_wants

__all__ = [
    "STAGES",
    "Answered",
    "BudgetWay",
    "ErrorParts",
    "Measured",
    "MissingRows",
    "NeededBudget",
    "Outlook",
    "QuestionOutlook",
    "Rehearsed",
    "StandIn",
    "ThresholdOutlook",
    "Trio",
    "Truth",
    "TruthFile",
    "Usefulness",
    "Want",
    "WantedAnswer",
    "Wants",
    "Workload",
    "WorkloadAnswer",
    "WorkloadSource",
    "answer_questions",
    "answer_workload",
    "compared_thresholds",
    "count_file",
    "draw_tables",
    "error_parts",
    "find_workload",
    "frame_of_card",
    "frame_of_spec",
    "measure",
    "merged_truth",
    "needed_budget",
    "outlook",
    "parse_wants",
    "rehearse",
    "stand_in",
    "stated_dimension",
    "usefulness",
    "usual_trio",
    "wanted_by_spec",
]
