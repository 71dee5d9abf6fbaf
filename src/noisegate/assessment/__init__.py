"""Assess published tables: what they are, how they were made, and what they give away."""

from __future__ import annotations

from noisegate.assessment.assessment import AssessedTable, Assessment
from noisegate.assessment.finding import SEVERITIES, Check, Finding, Severity, at_least
from noisegate.assessment.job import assess

__all__ = ["SEVERITIES", "AssessedTable", "Assessment", "Check", "Finding", "Severity", "assess", "at_least"]
