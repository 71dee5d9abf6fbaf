"""How far things walk: which modules one suppressed cell, and one tap, pass on their way through the house.

    python docs/_make/walk.py

runs a release and an assessment of a small invented town with a profiler on, and prints the modules whose functions were
called, in the order of the first call, and the *representations* of a cell: classes of ours whose objects hold one number for
every cell of the base. `docs/explanation/architecture.md` tells the story; a test holds its figures to what is measured here.
"""  # noqa: INP001 - a script

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import noisegate

HOUSE = str(Path(noisegate.__file__).parent)
_FUNCTION = 0x2  # CO_NEWLOCALS: bodies of modules and classes lack it.


@dataclass(slots=True)
class Walk:
    """What was passed: modules in the order of the first call, how often one called another, representations."""

    cells: int = -1
    modules: dict[str, str] = field(default_factory=dict)
    representations: dict[str, None] = field(default_factory=dict)
    changes: set[tuple[str, str]] = field(default_factory=set)
    _last: str = ""

    def __call__(self, frame: FrameType, event: str, value: Any, /) -> None:
        """Called by the interpreter at every call and return."""
        place = frame.f_code.co_filename
        if not place.startswith(HOUSE) or not frame.f_code.co_flags & _FUNCTION:
            return
        module = place[len(HOUSE) + 1 : -3].replace("/", ".").removesuffix(".__init__")
        if event == "call":
            self.modules.setdefault(module, frame.f_code.co_name)
            if self._last and self._last != module:
                self.changes.add((self._last, module))
            self._last = module
        elif event == "return" and self.cells > 0:
            self._look(value)

    def _look(self, value: Any, /) -> None:
        kind = type(value)
        if not kind.__module__.startswith("noisegate"):
            return
        names = getattr(kind, "__dataclass_fields__", None) or {}
        for name in names:
            if np.size(getattr(value, name, None)) == self.cells:
                self.representations.setdefault(
                    f"{kind.__module__.removeprefix('noisegate.')}.{kind.__name__}"
                )
                return


def watched(job: Callable[[], Any], walk: Walk, /) -> Any:
    """The result of the job, with `walk` looking on in every thread."""
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        return job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walks(folder: Path, /) -> dict[str, Walk]:
    """The walk of a tap through a release, and of a suppressed cell through its assessment to the page."""
    world = noisegate.simulate(folder / "town", days=2, persons=3000)
    tap = Walk()
    made = watched(
        lambda: noisegate.release(world.spec_2016, out=folder / "release", ledger=folder / "ledger.db"), tap
    )
    cell = Walk(cells=made.card.cells)
    watched(lambda: noisegate.assess(folder / "release").write(folder / "assessed"), cell)
    return {"tap": tap, "cell": cell}


def main() -> None:
    """Print both walks."""
    with tempfile.TemporaryDirectory() as folder:
        for name, walk in walks(Path(folder)).items():
            print(f"one {name}: {len(walk.modules)} modules, {len(walk.changes)} changes between modules")  # noqa: T201
            for module, function in walk.modules.items():
                print(f"  {module}.{function}")  # noqa: T201
            if walk.representations:
                print(f"  {len(walk.representations)} representations: {', '.join(walk.representations)}")  # noqa: T201


if __name__ == "__main__":
    main()
