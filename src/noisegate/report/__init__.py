"""The report of an assessment: one page for people, as HTML, Markdown and PDF.

A function of the files that an assessment wrote (`assessment.json`, `cells.parquet`); nothing is computed
here that is not in them, but for what a recovered mechanism does to one count.
"""

from __future__ import annotations

from noisegate.report.write import Written, print_report, write_report

__all__ = ["Written", "print_report", "write_report"]
