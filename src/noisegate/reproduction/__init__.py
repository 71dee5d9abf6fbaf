"""Every number, formula, table and figure of the 2017 report, recomputed."""

from __future__ import annotations

from noisegate.reproduction.detection import detection_items
from noisegate.reproduction.item import Item
from noisegate.reproduction.linked import linked_items
from noisegate.reproduction.noise import noise_items
from noisegate.reproduction.rows import row_items

__all__ = ["Item", "reproduce"]


def reproduce() -> list[Item]:
    """All items, in the order of the report's sections."""
    return [*noise_items(), *detection_items(), *linked_items(), *row_items()]
