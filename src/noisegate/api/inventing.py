"""Worlds with known truth, and the figures of the 2017 report."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

from noisegate.reproduction import Item
from noisegate.reproduction import reproduce as recompute
from noisegate.simulation import World
from noisegate.simulation import simulate as make_world


def simulate(
    out: str | os.PathLike[str],
    /,
    *,
    days: int = 14,
    persons: int = 200_000,
    seed: int = 1,
    gtfs: str | os.PathLike[str] | None = None,
    stops: int | None = None,
    closed_ferry: bool = True,
    start: date | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> World:
    """An invented city: raw taps, their truth, public lists, a timetable and two release specs in a new folder.

    Parameters
    ----------
    out
        The folder to make; it must not exist.
    gtfs
        A feed (zip or folder) whose network is used in place of an invented one.
    stops
        Number of stops of the invented network.
    closed_ferry
        Whether there is a ferry of two stops that is counted at both ends.
    start
        The first date.
    progress
        Called with the days done and the days to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import noisegate
    >>> world = noisegate.simulate(pathlib.Path(tempfile.mkdtemp()) / "town", days=1, persons=200)
    >>> world.spec.name, world.taps.name
    ('spec.yaml', 'taps.parquet')
    """
    return make_world(
        Path(out),
        days=days,
        persons=persons,
        seed=seed,
        gtfs=None if gtfs is None else Path(gtfs),
        stops=stops,
        closed_ferry=closed_ferry,
        start=date.fromisoformat(start) if isinstance(start, str) else start,
        progress=progress,
    )


def reproduce(*, more: bool = False) -> list[Item]:
    """Every figure of the 2017 report: printed, recomputed, exact, and a verdict.

    With `more` also figures of others, each with its source: mobility flows and their critique, page views, a census.

    Examples
    --------
    >>> import noisegate
    >>> {item.verdict for item in noisegate.reproduce()} == {"agrees", "agrees with log base 10", "wrong"}
    True
    """
    return recompute(more=more)
