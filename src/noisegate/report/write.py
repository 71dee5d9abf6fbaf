"""Writing an assessment and its report: staged, and renamed into place at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from noisegate.assessment import Assessment, cells_batches, noise, protocol_of, vehicles_table, weeks
from noisegate.columns import ParquetWriter, write_parquet
from noisegate.errors import OutputError
from noisegate.pictures import draw, save
from noisegate.places import MARK, MARK_KEY, check_directory, new_directory
from noisegate.report.html import print_pdf
from noisegate.tables import PROTOCOL

#: The files of an assessment: for programs, and for people.
ASSESSMENT, CELLS, VEHICLES = "assessment.json", "cells.parquet", "vehicles.parquet"
HTML, MARKDOWN, PDF = "report.html", "report.md", "report.pdf"

#: Characters of a name that have no place in a file's.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def write_assessment(
    assessment: Assessment, folder: Path, /, *, progress: Callable[[str], None] = lambda _: None
) -> None:
    """Write everything that an assessment leaves to `folder`, which must not exist: all of it, or nothing.

    `assessment.json`, `cells.parquet` and `vehicles.parquet` for programs, pictures, `report.html` and `report.md` for
    people, `motivated-intruder.json` as the protocol of the test that it is.

    Raises
    ------
    OutputError
        If the folder exists, or cannot be written.
    """
    check_directory(folder)
    progress("writing")
    with new_directory(folder) as staging:
        text = json.dumps(assessment.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (staging / ASSESSMENT).write_text(text, encoding="utf-8")
        protocol = json.dumps(protocol_of(assessment), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (staging / PROTOCOL).write_text(protocol, encoding="utf-8")
        notes = {MARK_KEY: MARK} if assessment.custodian_only else {}
        if assessment.vehicles is not None:
            write_parquet(vehicles_table(assessment.vehicles.services), staging / VEHICLES, notes=notes)
        if assessment.known_cells is not None:
            with ParquetWriter(staging / CELLS, notes=notes) as cells:
                for batch in cells_batches(assessment.known_cells):
                    cells.write(batch)
        _write_pictures(staging, assessment)
        progress("writing the report")
        write_report(assessment, staging)


def _write_pictures(folder: Path, assessment: Assessment, /) -> None:
    """Write `noise-TABLE.svg` for each table whose noise was recovered, and `weeks.svg` if weeks were looked at."""
    shown = [noise.show(assessment), weeks.show(assessment)]
    for figure in (figure for one in shown if one is not None for figure in one.figures):
        if figure.table:
            name = f"noise-{_UNSAFE.sub('_', figure.table)}.svg"
            save(draw(figure.picture), folder / name, marked=assessment.custodian_only)
        elif figure.key == "weeks" and assessment.weeks is not None and assessment.weeks.width is not None:
            save(draw(figure.picture), folder / "weeks.svg", marked=assessment.custodian_only)


def write_report(assessment: Assessment, directory: Path, /) -> None:
    """Write `report.html` and `report.md` to `directory`: a function of the assessment alone.

    Raises
    ------
    OutputError
        If the report cannot be written.
    """
    # Templates take a while to load, and whoever writes no report should not wait for them.
    from noisegate.report.build import page_of
    from noisegate.report.html import render_html
    from noisegate.report.live import live_of
    from noisegate.report.markdown import render_markdown

    page = page_of(assessment)
    try:
        # The page says so in words too; the mark is what programs look for.
        mark = f"<!-- {MARK} -->\n" if assessment.custodian_only else ""
        (directory / HTML).write_text(render_html(page, live=live_of(assessment)) + mark, encoding="utf-8")
        (directory / MARKDOWN).write_text(render_markdown(page) + mark, encoding="utf-8")
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(f"The report cannot be written to {directory}: {reason}.") from problem


def print_report(directory: Path, /) -> str:
    """Write `report.pdf` from the `report.html` in `directory`; empty if that worked, else how it would."""
    return print_pdf(directory / HTML, directory / PDF)
