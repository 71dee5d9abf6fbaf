"""Where the questions of an assessment come from: the card beside the tables, or a spec that a person names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from noisegate.errors import DataError
from noisegate.query.published import read_own_card
from noisegate.reading.structure import Structure
from noisegate.spec import ReleaseSpec
from noisegate.tables.card import CARD, Card, StatedQuestion
from noisegate.tables.question import Question
from noisegate.workload.asked import wanted_by_spec
from noisegate.workload.frame import Frame, frame_of_card, frame_of_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSource:
    """Questions, and what states how the release was made.

    Attributes
    ----------
    kind
        Whether the questions are the card's or the spec's.
    folder
        The directory of the release, if it has a card of ours.
    spec
        The spec, if a person named one.
    """

    kind: Literal["card", "spec"]
    wanted: tuple[Question, ...]
    folder: Path | None = None
    spec: ReleaseSpec | None = None

    def frame(self, structure: Structure, /) -> Frame:
        """The release as questions are put to it: by its card, else by the spec."""
        if self.folder is not None:
            return frame_of_card(self.folder)
        if self.spec is None:
            raise DataError("there is neither a card nor a spec that lays the release out.")
        return frame_of_spec(self.spec, structure)


def find_workload(card: Card | None, spec: ReleaseSpec | None, /) -> WorkloadSource | None:
    """The questions of the spec, else those of the card; None if nobody states any.

    Raises
    ------
    SpecError, DataError
        If the spec has no workload, or the card's is in another form.
    """
    path = None if card is None else card.path
    folder = None if path is None or path.name != CARD else path.parent
    stated: tuple[StatedQuestion, ...] = ()
    if folder is not None:
        try:
            stated = read_own_card(folder).workload
        except DataError:
            folder = None  # The card of another program: it says enough to assess by, not to compute with.
    if spec is not None:
        return WorkloadSource(kind="spec", wanted=wanted_by_spec(spec), folder=folder, spec=spec)
    if folder is None or not stated:
        return None
    return WorkloadSource(kind="card", wanted=tuple(entry.question for entry in stated), folder=folder)
