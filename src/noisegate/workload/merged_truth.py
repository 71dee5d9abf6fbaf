"""The raw count of every cell of a base whose labels stand for several values in places: 00:00-04:00, a postcode.

What such a label stands for is not to be seen in the tables; the card or the spec says it.
"""

from __future__ import annotations

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.reading.structure import Structure
from noisegate.tables.where import folded
from noisegate.workload.raw_cells import RawEvents
from noisegate.workload.raw_events import Truth, TruthFile
from noisegate.workload.source import WorkloadSource


def merged_truth(asked: WorkloadSource, structure: Structure, file: TruthFile, /) -> Truth | None:
    """The raw counts, placed as the release places them; None if it merges nothing or is not all there."""
    try:
        frame = asked.frame(structure)
        if not any(dimension.groups for dimension in frame.domain.dimensions):
            return None
        raw = RawEvents(file=file, frame=frame).count(())
    except (DataError, SpecError):
        return None
    base = structure.base
    codes = dict(zip(frame.domain.names, frame.domain.decode(raw.cells), strict=True))
    found = np.full((len(base.dimensions), raw.cells.size), -1, dtype=np.int32)
    for row, dimension in enumerate(base.dimensions):
        known = {folded(label): code for code, label in enumerate(dimension.labels)}
        known |= {folded(key): code for code, key in enumerate(dimension.keys)}
        labels = frame.domain.dimensions[frame.domain.axis(dimension.name)].labels
        place = np.array([known.get(folded(label), -1) for label in labels], dtype=np.int32)
        found[row] = place[codes[dimension.name]]
    inside = (found >= 0).all(axis=0)
    flat = np.full(raw.cells.size, -1, dtype=np.int64)
    flat[inside] = base.locate(found[:, inside])
    there = flat >= 0
    counts = np.bincount(flat[there], weights=raw.counts[there], minlength=base.size).astype(np.int64)
    events = file.events()
    return Truth(counts=counts, events=events, outside=events - int(counts.sum()), file=file)
