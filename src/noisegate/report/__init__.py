"""The report of an assessment: one page for people, as HTML, Markdown and PDF, and files for programs.

A function of the assessment alone; nothing is worked out here.
"""

from __future__ import annotations

from noisegate.report.write import check_output, print_report, write_assessment, write_report

__all__ = ["check_output", "print_report", "write_assessment", "write_report"]
