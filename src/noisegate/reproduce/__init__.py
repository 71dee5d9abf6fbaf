"""Every number, formula, table and figure of the 2017 report, recomputed."""

from __future__ import annotations

from noisegate.reproduce.detection import detection_items
from noisegate.reproduce.item import Item
from noisegate.reproduce.linked import linked_items
from noisegate.reproduce.noise import noise_items
from noisegate.reproduce.rows import row_items

__all__ = ["Item", "reproduce"]


def reproduce() -> list[Item]:
    """All items, in the order of the report's sections."""
    return [*noise_items(), *detection_items(), *linked_items(), *row_items()]
