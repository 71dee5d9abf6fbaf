"""How far things walk: which modules one tap, and one suppressed cell, pass on their way through the house.

    python docs/_make/walk.py

runs a release and an assessment of a small invented town with a profiler on. A module *runs* if one of its functions is called.
It is *passed* by the cells if one of its functions is given, or returns, something that holds a number for every cell of the
base or for every suppressed one: an array, or an object of ours with such an array in it, which is then a *representation*
of the cells. `docs/explanation/architecture.md` tells the story; a test holds its figures to what is measured here.
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
    """What ran and what was passed, in the order of the first call, each with the function that was called first."""

    sizes: frozenset[int] = frozenset()
    ran: dict[str, str] = field(default_factory=dict)
    passed: dict[str, str] = field(default_factory=dict)
    representations: dict[str, None] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, value: Any, /) -> None:
        """Called by the interpreter at every call and return."""
        code = frame.f_code
        if (
            event not in ("call", "return")
            or not code.co_filename.startswith(HOUSE)
            or not code.co_flags & _FUNCTION
        ):
            return
        module = code.co_filename[len(HOUSE) + 1 : -3].replace("/", ".").removesuffix(".__init__")
        if event == "call":
            self.ran.setdefault(module, code.co_name)
            if any(self._holds(frame.f_locals.get(name)) for name in code.co_varnames[: code.co_argcount]):
                self.passed.setdefault(module, code.co_name)
        elif self._holds(value):
            self.passed.setdefault(module, code.co_name)

    def _holds(self, value: Any, /) -> bool:
        """Whether something has a number for every cell; notes the class of ours that does."""
        if not self.sizes:
            return False
        if isinstance(value, np.ndarray):
            return value.size in self.sizes
        kind = type(value)
        if not kind.__module__.startswith("noisegate"):
            return False
        for name in getattr(kind, "__dataclass_fields__", ()):
            held = getattr(value, name, None)
            if isinstance(held, np.ndarray) and held.size in self.sizes:
                self.representations.setdefault(
                    f"{kind.__module__.removeprefix('noisegate.')}.{kind.__name__}"
                )
                return True
        return False


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
    """The walk of a tap through a release, of a suppressed cell from the files to its posterior, and of all questions to the page."""
    world = noisegate.simulate(folder / "town", days=2, persons=3000)
    release, infer, assess = noisegate.release, noisegate.infer, noisegate.assess
    ledger = folder / "ledger.db"
    made = release(world.spec_2016, out=folder / "release", ledger=ledger)
    infer(
        folder / "release"
    )  # What runs only because a module is loaded for the first time is no part of the way.
    base = made.release.base
    tap = Walk()
    cell, page = (Walk(sizes=frozenset({base.domain.size, base.domain.size - len(base.cells)})) for _ in "12")
    watched(lambda: release(world.spec_2016, out=folder / "again", ledger=ledger), tap)
    watched(lambda: infer(folder / "release"), cell)
    watched(lambda: assess(folder / "release").write(folder / "assessed"), page)
    return {
        "tap, to the release": tap,
        "cell, to its posterior": cell,
        "cell, all questions, to the page": page,
    }


def main() -> None:
    """Print both walks."""
    with tempfile.TemporaryDirectory() as folder:
        for name, walk in walks(Path(folder)).items():
            print(f"one {name}: {len(walk.ran)} modules run, {len(walk.passed)} are passed")  # noqa: T201
            for module, function in (walk.passed or walk.ran).items():
                print(f"  {module}.{function}")  # noqa: T201
            print(f"  {len(walk.representations)} representations: {', '.join(walk.representations)}")  # noqa: T201


if __name__ == "__main__":
    main()
