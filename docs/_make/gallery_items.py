"""One release of the gallery: what is said about it, and how it is made and assessed."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import noisegate
from noisegate.laws import SeededNoise
from noisegate.pictures import Picture
from noisegate.simulation import World

#: The city of `noisegate demo`, and a noise that can be drawn again.
PERSONS, DAYS, SEED = 60_000, 7, 7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """An assessment, its picture, the key numbers that the text quotes, and the card of the release if it has one."""

    found: noisegate.OpenAssessment
    picture: Picture
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    card: Path | None = None


class Workshop:
    """A folder to work in, where the real tables lie (None if nowhere), and a city that several items share."""

    def __init__(self, folder: Path, /, *, data: Path | None) -> None:
        self.folder, self.data = folder, data

    def real(self, name: str, /) -> Path:
        """A real table, read where it lies."""
        assert self.data is not None
        return self.data / name

    @cached_property
    def city(self) -> World:
        """An invented city."""
        return noisegate.simulate(self.folder / "city", persons=PERSONS, days=DAYS, seed=SEED)

    @cached_property
    def as_in_2016(self) -> Path:
        """Its release as in 2016."""
        return self._released(self.city.spec_2016, "as-in-2016")

    @cached_property
    def proper(self) -> Path:
        """Its release as it should be."""
        return self._released(self.city.spec, "proper")

    def _released(self, spec: Path, name: str, /) -> Path:
        out = self.folder / name
        noisegate.release(
            spec, out=out, ledger=self.folder / f"{name}.sqlite", entropy=SeededNoise(seed=SEED)
        )
        return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Item:
    """One release: `shows` is filled with its numbers; `real` are the files that it needs, below the shared data."""

    slug: str
    title: str
    field: str
    made_by: str
    published: str
    shows: str
    caption: str
    command: str
    make: Callable[[Workshop], Made]
    mend: str = ""
    real: tuple[str, ...] = ()
    slow: bool = False

    def missing(self, data: Path | None, /) -> str | None:
        """Why the item cannot be made here; None if it can."""
        if not self.real:
            return None
        if data is None:
            return "the shared data are not on this machine"
        gone = [name for name in self.real if not (data / name).exists()]
        return f"{', '.join(gone)} is not on this machine" if gone else None
