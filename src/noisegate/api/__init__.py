"""The public functions: every job of the command line, for Python."""

from __future__ import annotations

from noisegate.api.assessing import OpenAssessment, assess, infer, read_tables, recover
from noisegate.api.inventing import reproduce, simulate
from noisegate.api.mechanism import MechanismFacts, mechanism
from noisegate.api.releasing import EventCheck, check, plan, read_spec, release

__all__ = [
    "EventCheck",
    "MechanismFacts",
    "OpenAssessment",
    "assess",
    "check",
    "infer",
    "mechanism",
    "plan",
    "read_spec",
    "read_tables",
    "recover",
    "release",
    "reproduce",
    "simulate",
]
