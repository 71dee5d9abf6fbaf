"""Which tables give hidden counts away only together, and which would have to be left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.words import plural
from noisegate.inference import TableSets

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Sets that are named in a finding.
_NAMED = 5

WORDS: Mapping[str, Words] = {
    "tables-together": Words(
        says="The smallest sets of tables that give hidden counts away, and the cheapest tables to leave out.",
        meaning="No single table gives these counts away, but a few of them together do.",
        method=(
            "A count is given away by a set of tables if their sums leave it one value. For each count that the whole release gives away "
            "the smallest such sets are found, exactly: every smaller set was shown to leave another value. What to leave out is the "
            "cheapest choice of tables that has one in common with every set that gives something away; a table costs as many counts as it shows."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Which tables hurt together."""
    if facts.table_sets is None:
        known = facts.known_counts
        if known is None or not known.exact.size or len(known.linked.tables) < 2:
            return []
        title = f"which tables give counts away together was not looked at: {known.linked.low.size:,} cells are too many for that"
        return [Check(id="tables-together", outcome="cannot tell", title=title)]
    how = "hidden" if facts.known_counts is None else facts.known_counts.how
    return about_sets(facts.table_sets, how=how)


def about_sets(found: TableSets, /, *, how: str = "hidden") -> list[Result]:
    """A finding where counts are given away by several tables together; `how` says what was done to these counts."""
    alone = sum(len(one.sets[0]) == 1 for one in found.cells)
    together = len(found.cells) - alone
    if not together:
        return []
    sets = [(names, n) for names, n in found.by_set().items() if len(names) > 1]
    names, n = sets[0]
    title = f"{plural(together, f'{how} count')} {'is' if together == 1 else 'are'} given away by tables together, {n:,} by {' and '.join(names)}"
    title += _remedy(found)
    evidence = [f"{' and '.join(names)}: {plural(n, 'count')}." for names, n in sets[:_NAMED]]
    if len(sets) > _NAMED:
        evidence.append(f"And {plural(len(sets) - _NAMED, 'set')} more.")
    if found.looked_at < found.given_away:
        evidence.append(
            f"Only {found.looked_at:,} of {found.given_away:,} counts that are given away were looked at: time ran out."
        )
    if not all(one.proven for one in found.cells):
        evidence.append("For some counts it is not proven that no smaller set gives them away: time ran out.")
    return [
        Finding(
            id="tables-together",
            severity="medium",
            title=title,
            numbers=found.to_json(),
            baseline={"from": "each table by itself", "counts": alone},
            evidence=evidence,
            advice="Leave the named tables out, publish them in coarser cells, or hide more of them (secondary suppression) until no sum has one open cell.",
        )
    ]


def _remedy(found: TableSets, /) -> str:
    if not found.drop_names:
        return ""
    return f"; leaving out {' and '.join(found.drop_names)} would hide all that is given away"


def show(assessment: Assessment, /) -> Exhibit | None:
    """The smallest sets."""
    found = assessment.table_sets
    if found is None or not found.cells:
        return None
    rows = [(" and ".join(names), len(names), n) for names, n in found.by_set().items()]
    caption = "The smallest sets of tables that give hidden counts away"
    return Exhibit(
        section="tables", grids=[Grid.of(caption, ["tables", "how many", "counts given away"], rows, most=20)]
    )
