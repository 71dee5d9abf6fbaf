"""The assessment job: read published tables, find out what they tell, judge it. Nothing is written here."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from noisegate.assessment.assessment import Assessment
from noisegate.assessment.facts import Facts, Progress
from noisegate.assessment.judgement import judge
from noisegate.assessment.request import AnyPath, Request, Said
from noisegate.reading import Overrides, TableSources, find_structure, read_sources
from noisegate.tables import find_card


def assess(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    card: AnyPath | None = None,
    progress: Progress | None = None,
    **said: Unpack[Said],
) -> Assessment:
    """What published tables give away; `noisegate.assess` explains what may be said.

    Raises
    ------
    DataError, SpecError
        One sentence: what is wrong, and the way out.
    """
    return judge(find_facts(tables, overrides=overrides, card=card, progress=progress, **said))


def find_facts(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    card: AnyPath | None = None,
    progress: Progress | None = None,
    **said: Unpack[Said],
) -> Facts:
    """What published tables tell, each fact worked out when it is first asked for; see `assess`."""
    request = Request.of(**said)
    report = progress or (lambda _: None)
    read = read_sources(tables, overrides=overrides, progress=report)
    files = [file for table in read.tables for file in table.files]
    stated = find_card(None if card is None else Path(card), files)
    report("finding the structure")
    structure = find_structure(
        read.tables, overrides=overrides, card=stated, lookups=read.lookups, left_out=read.left_out
    )
    return Facts(structure, request, stated, report)
