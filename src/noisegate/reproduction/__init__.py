"""Every number, formula, table and figure of the 2017 report, recomputed."""

from __future__ import annotations

from noisegate.reproduction.detection import detection_items
from noisegate.reproduction.figures import write_figures
from noisegate.reproduction.item import Item, judged, rounds_to
from noisegate.reproduction.linked import coverage, equal_tails, linked_items, posterior, row_items
from noisegate.reproduction.more import more_items
from noisegate.reproduction.noise import fitted_scale, noise_items, simulated_pairs

__all__ = [
    "Item",
    "coverage",
    "equal_tails",
    "fitted_scale",
    "judged",
    "more_items",
    "posterior",
    "reproduce",
    "rounds_to",
    "simulated_pairs",
    "write_figures",
]


def reproduce(*, more: bool = False) -> list[Item]:
    """All items, in the order of the report's sections; with `more`, figures of others after them."""
    own = [*noise_items(), *detection_items(), *linked_items(), *row_items()]
    return [*own, *more_items()] if more else own
