"""Writing a report beside its assessment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noisegate.errors import OutputError
from noisegate.report.pdf import print_pdf
from noisegate.report.source import Source

#: The files of a report.
HTML, MARKDOWN, PDF = "report.html", "report.md", "report.pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written, and what was not and why."""

    files: tuple[Path, ...]
    note: str = ""


def write_report(directory: Path, /, *, pdf: bool = False) -> Written:
    """Write `report.html` and `report.md` beside `assessment.json`, and `report.pdf` if asked for.

    A function of the files in `directory` alone: the same files give the same report. Parts that are not
    there are left out. A PDF needs a Chromium; without one the report is complete otherwise, and `note` says
    how to get one.

    Raises
    ------
    DataError
        If there is no assessment in `directory`, or it cannot be read.
    OutputError
        If the report cannot be written.
    """
    # What draws takes a second to load, and whoever writes no report should not wait for it.
    from noisegate.report.build import page_of
    from noisegate.report.html import render_html
    from noisegate.report.markdown import render_markdown

    page = page_of(Source.read(directory))
    files = [directory / HTML, directory / MARKDOWN]
    try:
        files[0].write_text(render_html(page), encoding="utf-8")
        files[1].write_text(render_markdown(page), encoding="utf-8")
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(f"The report cannot be written to {directory}: {reason}.") from problem
    note = ""
    if pdf:
        note = print_report(directory)
        files += [] if note else [directory / PDF]
    return Written(files=tuple(files), note=note)


def print_report(directory: Path, /) -> str:
    """Write `report.pdf` from the `report.html` in `directory`; empty if that worked, else how it would."""
    return print_pdf(directory / HTML, directory / PDF)
