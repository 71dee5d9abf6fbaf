"""The report of an assessment: one page for people, as HTML, Markdown and PDF, and files for programs.

A function of the assessment alone; nothing is worked out here.
"""

from __future__ import annotations

from noisegate.report.build import page_of
from noisegate.report.crosswalk import ISO, REGISTRY, REPORT
from noisegate.report.html import VARIABLE, browser_command, find_browser, print_pdf, render_html
from noisegate.report.live import Live, as_data, as_script, embedded_looks, embedded_maps, finite, live_of
from noisegate.report.maps import CellMap, map_of
from noisegate.report.markdown import escaped, render_markdown
from noisegate.report.programme import Programme, programme_form, programme_text
from noisegate.report.sarif import as_sarif
from noisegate.report.summary import tiles_of, verdict_of
from noisegate.report.write import print_report, write_assessment, write_report

__all__ = [
    "ISO",
    "REGISTRY",
    "REPORT",
    "VARIABLE",
    "CellMap",
    "Live",
    "Programme",
    "as_data",
    "as_sarif",
    "as_script",
    "browser_command",
    "embedded_looks",
    "embedded_maps",
    "escaped",
    "find_browser",
    "finite",
    "live_of",
    "map_of",
    "page_of",
    "print_pdf",
    "print_report",
    "programme_form",
    "programme_text",
    "render_html",
    "render_markdown",
    "tiles_of",
    "verdict_of",
    "write_assessment",
    "write_report",
]
