"""The assessment job: read published tables, find out what they tell, judge it. Nothing is written here."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from noisegate import limits
from noisegate.assessment.assessment import Assessment
from noisegate.assessment.facts import Facts, Progress, find_facts
from noisegate.assessment.grouping import grouped
from noisegate.assessment.intruder import with_protocol
from noisegate.assessment.judgement import judge
from noisegate.assessment.provenance import Provenance
from noisegate.assessment.request import AnyPath, Said
from noisegate.reading import Overrides, TableSources


def assess(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    card: AnyPath | None = None,
    title: str = "",
    command: str = "",
    progress: Progress | None = None,
    **said: Unpack[Said],
) -> Assessment:
    """What published tables give away; `noisegate.assess` explains what may be said.

    Raises
    ------
    DataError, SpecError
        One sentence: what is wrong, and the way out.
    """
    facts = find_facts(tables, overrides=overrides, card=card, progress=progress, **said)
    files = [file for one in facts.structure.every for table in one.sources for file in table.files]
    origin = Provenance.of(files, title=title, command=command)
    result = replace(_with_beside(judge(facts), facts), provenance=origin)
    return with_protocol(result, files[0].parent if files else None, facts.stated_card)


def _with_beside(assessment: Assessment, facts: Facts) -> Assessment:
    """The assessment with those of other measures and of tables that overlap; their findings stand among its own.

    What a person says about cells, persons and services is about the first of them.
    """
    others = []
    for structure in facts.structure.beside[: limits.current().assessed_beside]:
        name = structure.measure or structure.base.name
        facts.report(f"assessing {name}")
        siblings = tuple(one for one in facts.structure.every if one is not structure)
        mine = replace(structure, beside=siblings, shared=facts.structure.shared)
        others.append((name, judge(facts.beside(mine))))
    found = [(assessment.base.name, one) for one in assessment.findings]
    found += [
        (name, replace(one, title=f"{name}: {one.title}")) for name, other in others for one in other.findings
    ]
    tables = [table for _, other in others for table in other.tables]
    return replace(
        assessment,
        findings=grouped(found),
        tables=(*assessment.tables, *tables),
        beside=tuple(other for _, other in others),
    )
