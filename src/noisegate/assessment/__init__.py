"""Assess published tables: what they are, how they were made, and what they give away."""

from __future__ import annotations

from noisegate.assessment.arrow_tables import cells_batches, vehicles_table
from noisegate.assessment.assessment import AssessedTable, Assessment
from noisegate.assessment.cell_state import CellState
from noisegate.assessment.cell_sums import exposed, moments
from noisegate.assessment.claims import Claim, judge_claim
from noisegate.assessment.differencing import DifferenceNoise, Sliver, Slivers, find_slivers_between
from noisegate.assessment.dropped import Dropped
from noisegate.assessment.exposure import Exposure
from noisegate.assessment.facts import Facts, find_facts
from noisegate.assessment.finding import SEVERITIES, Check, Finding, Outcome, Result, Severity, at_least
from noisegate.assessment.growth import Persons, check_weeks
from noisegate.assessment.inference import Inference
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Listing, Section, Words
from noisegate.assessment.intruder import protocol_of
from noisegate.assessment.job import assess
from noisegate.assessment.judgement import INQUIRIES, exhibits_of, figures_of, words_of
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.loss import LossSummary, about_loss
from noisegate.assessment.microdata import Coarsening, Microdata, PersonEvents, read_person_events
from noisegate.assessment.microscope import (
    EQUAL_COUNTS,
    CloseLook,
    CountLaw,
    Microscope,
    Witness,
    cell_states,
)
from noisegate.assessment.missing_taps import MissingTaps, Ranked
from noisegate.assessment.movement import (
    MovementScore,
    as_closed,
    random_trajectories,
    recover_trajectories,
    score_trajectories,
)
from noisegate.assessment.proofs import ProofScope
from noisegate.assessment.releases_compared import compare_pair, compare_releases
from noisegate.assessment.request import LATE_MIN
from noisegate.assessment.score import AttackScore, Row
from noisegate.assessment.services import Services, tolerance_of
from noisegate.assessment.thresholds import may_stop, recognised_law
from noisegate.assessment.trajectories import Movement
from noisegate.assessment.uniqueness import Histories, Uniqueness, by_person, share_interval, uniqueness
from noisegate.assessment.words import chance, ends, flat, interval, percent, plain, plural, short
from noisegate.inference import Attacker

__all__ = [
    "EQUAL_COUNTS",
    "INQUIRIES",
    "LATE_MIN",
    "SEVERITIES",
    "AssessedTable",
    "Assessment",
    "AttackScore",
    "Attacker",
    "CellState",
    "Check",
    "Claim",
    "CloseLook",
    "Coarsening",
    "CountLaw",
    "DifferenceNoise",
    "Dropped",
    "Exhibit",
    "Exposure",
    "Facts",
    "Figure",
    "Finding",
    "Grid",
    "Histories",
    "Inference",
    "KnownCounts",
    "Listing",
    "LossSummary",
    "Microdata",
    "Microscope",
    "MissingTaps",
    "Movement",
    "MovementScore",
    "Outcome",
    "PersonEvents",
    "Persons",
    "ProofScope",
    "Ranked",
    "Result",
    "Row",
    "Section",
    "Services",
    "Severity",
    "Sliver",
    "Slivers",
    "Uniqueness",
    "Witness",
    "Words",
    "about_loss",
    "as_closed",
    "assess",
    "at_least",
    "by_person",
    "cell_states",
    "cells_batches",
    "chance",
    "check_weeks",
    "compare_pair",
    "compare_releases",
    "ends",
    "exhibits_of",
    "exposed",
    "figures_of",
    "find_facts",
    "find_slivers_between",
    "flat",
    "interval",
    "judge_claim",
    "may_stop",
    "moments",
    "percent",
    "plain",
    "plural",
    "protocol_of",
    "random_trajectories",
    "read_person_events",
    "recognised_law",
    "recover_trajectories",
    "score_trajectories",
    "share_interval",
    "short",
    "tolerance_of",
    "uniqueness",
    "vehicles_table",
    "words_of",
]
