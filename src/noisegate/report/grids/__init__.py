"""The tables of the sections: what each part of an assessment says, in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisegate.report.grids.cells import attack_score, suppressed_totals
from noisegate.report.grids.dropped import dropped_rows, judged_claims
from noisegate.report.grids.services import cells_alone, linked_cells, missing_taps
from noisegate.report.grids.tables import lines_aside, made_tables, read_tables
from noisegate.report.grids.utility import (
    answered_queries,
    causes_of_errors,
    ranked_queries,
    sure_queries,
    unanswered_queries,
)
from noisegate.report.grids.weeks import losses_by_week, recurring_groups, unique_persons
from noisegate.report.page import Grid
from noisegate.report.source import Source

_GRIDS: Mapping[str, tuple[Callable[[Source], Grid | None], ...]] = {
    "tables": (read_tables, made_tables, lines_aside),
    "cells": (suppressed_totals, attack_score),
    "services": (linked_cells, cells_alone, missing_taps),
    "dropped": (dropped_rows, judged_claims),
    "weeks": (recurring_groups, losses_by_week),
    "microdata": (unique_persons,),
    "utility": (causes_of_errors, answered_queries, ranked_queries, sure_queries, unanswered_queries),
}


def grids_of(section: str, source: Source, /) -> tuple[Grid, ...]:
    """The tables of one section; those with nothing to say are left out."""
    makers = _GRIDS.get(section, ())
    return tuple(grid for make in makers if (grid := make(source)) is not None and grid.rows)
