"""The programme behind the bounds of hidden counts, in the forms of those who know it: CPLEX LP, MPS, and the JJ format of tau-ARGUS.

Every cell is a whole number within what is shown of it, every total the sum of its parts. Whoever minimises and maximises one cell
under that finds the bounds that the assessment states; whoever protects the table begins from the same programme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment import Assessment, KnownCounts
from noisegate.errors import DataError, SpecError
from noisegate.inference import ENDLESS, Equations

Ints = NDArray[np.int64]

#: Terms on a line: readers of LP files stop at some length.
_TERMS: Final = 8
#: What the JJ format asks for where nothing bounds a cell: so many times the largest count.
_ROOM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Programme:
    """The cells that stand in a sum or are open, each with its name and what it can be, and the sums.

    `example` is a solution in whole counts; None if none was found.
    """

    numbers: Ints
    names: tuple[str, ...]
    low: Ints
    high: Ints
    equations: Equations
    example: Ints | None

    @classmethod
    def of(cls, known: KnownCounts, /) -> Programme:
        """The programme of an assessment's exact bounds; cells that the tables know are fixed in it."""
        linked = known.linked
        used = linked.low < linked.high
        used[linked.equations.cells] = True
        numbers = np.flatnonzero(used)
        place = np.full(used.size, -1, np.int64)
        place[numbers] = np.arange(numbers.size)
        found = linked.equations
        equations = Equations(
            starts=found.starts, cells=place[found.cells], signs=found.signs, right=found.right
        )
        example = linked.solution()
        return cls(
            numbers=numbers,
            names=tuple(
                "not listed" if cell >= linked.offsets[-1] else known.name(cell) for cell in numbers.tolist()
            ),
            low=linked.low[numbers],
            high=linked.high[numbers],
            equations=equations,
            example=None if example is None else example[numbers],
        )

    def rows(self) -> Iterator[tuple[list[int], list[int], int]]:
        """Each sum: its cells, their signs, what it equals."""
        for row in range(len(self.equations)):
            cells, signs = self.equations.terms(row)
            yield cells.tolist(), signs.tolist(), int(self.equations.right[row])


def programme_text(assessment: Assessment, form: str, /) -> str:
    """The programme of an assessment as `lp`, `mps` or `jj`.

    Raises
    ------
    DataError
        If the tables have noise, or no cell is hidden, or (for `jj`) the sums contradict each other.
    """
    known = assessment.known_counts
    if known is None:
        raise DataError(
            "There is no programme of these tables: they have noise, no cell of them is hidden or rounded, or it is not known how they "
            "are protected; leave --programme out."
        )
    return _FORMS[form](Programme.of(known))


def programme_form(path: Path, /) -> str:
    """The form of a file by its ending.

    Raises
    ------
    SpecError
        If it is none of them.
    """
    form = path.suffix.removeprefix(".").lower()
    if form not in _FORMS:
        raise SpecError.for_choice(
            "the ending of --programme", found=path.suffix or path.name, allowed=[f".{one}" for one in _FORMS]
        )
    return form


def _sum(cells: list[int], signs: list[int], /) -> str:
    terms = [f"{'+' if sign > 0 else '-'} x{cell}" for cell, sign in zip(cells, signs, strict=True)]
    lines = [" ".join(terms[start : start + _TERMS]) for start in range(0, len(terms), _TERMS)]
    return "\n   ".join(lines)


def _one_line(name: str, /) -> str:
    return " ".join(name.split())


def _open(programme: Programme, /) -> int:
    """The first cell that is not known by itself."""
    return (
        int(np.flatnonzero(programme.low < programme.high)[0])
        if (programme.low < programme.high).any()
        else 0
    )


def _lp(programme: Programme, /) -> str:
    """CPLEX LP: minimise or maximise one cell after another."""
    lines = [
        r"\ Counts of published tables: whole numbers within what is shown, totals that are the sums of their parts."
    ]
    lines += [rf"\ x{k}: {_one_line(name)}" for k, name in enumerate(programme.names)]
    lines += ["Minimize", f" obj: x{_open(programme)}", "Subject To"]
    lines += [
        f" c{row}: {_sum(cells, signs)} = {right}"
        for row, (cells, signs, right) in enumerate(programme.rows())
    ]
    lines.append("Bounds")
    for k, (low, high) in enumerate(zip(programme.low.tolist(), programme.high.tolist(), strict=True)):
        if low == high:
            lines.append(f" x{k} = {low}")
        else:
            lines.append(f" x{k} >= {low}" if high >= ENDLESS else f" {low} <= x{k} <= {high}")
    lines.append("General")
    lines += [f" x{k}" for k in range(len(programme.names))]
    return "\n".join([*lines, "End", ""])


def _mps(programme: Programme, /) -> str:
    """Free MPS."""
    columns: list[list[str]] = [[] for _ in programme.names]
    columns[_open(programme)].append("OBJ 1")
    rights = []
    for row, (cells, signs, right) in enumerate(programme.rows()):
        for cell, sign in zip(cells, signs, strict=True):
            columns[cell].append(f"c{row} {sign}")
        if right:
            rights.append(f" RHS c{row} {right}")
    lines = [f"* x{k}: {_one_line(name)}" for k, name in enumerate(programme.names)]
    lines += ["NAME counts", "ROWS", " N OBJ", *(f" E c{row}" for row in range(len(programme.equations)))]
    lines += ["COLUMNS", " M1 'MARKER' 'INTORG'"]
    lines += [f" x{k} {entry}" for k, entries in enumerate(columns) for entry in entries or ["OBJ 0"]]
    lines += [" M2 'MARKER' 'INTEND'", "RHS", *rights, "BOUNDS"]
    for k, (low, high) in enumerate(zip(programme.low.tolist(), programme.high.tolist(), strict=True)):
        lines.append(f" LO BND x{k} {low}")
        lines.append(f" PL BND x{k}" if high >= ENDLESS else f" UP BND x{k} {high}")
    return "\n".join([*lines, "ENDATA", ""])


def _jj(programme: Programme, /) -> str:
    """The JJ format, as sdcTable writes it and tau-ARGUS reads it.

    A hidden cell is `u` with the value of one solution, which stands for any: the true one is not known. It must not be known
    exactly (SPL 1). All others are `s`: they are published as they are, and may be hidden too.
    """
    if programme.example is None:
        raise DataError(
            "There is no .jj file of these tables: their sums contradict each other, or no solution was found in time; write a .lp file."
        )
    most = max(int(programme.example.max(initial=0)), 1) * _ROOM
    lines = ["0", str(len(programme.names))]
    for k, value in enumerate(programme.example.tolist()):
        low, high = int(programme.low[k]), int(programme.high[k])
        if low < high:
            lines.append(f"{k} {value} {max(value, 1)} u {low} {min(high, most)} 0 0 1")
        else:
            lines.append(f"{k} {value} {max(value, 1)} s 0 {most} 0 0 0")
    lines.append(str(len(programme.equations)))
    for cells, signs, right in programme.rows():
        terms = " ".join(f"{cell}({sign})" for cell, sign in zip(cells, signs, strict=True))
        lines.append(f"{right}.0 {len(cells)} : {terms}")
    return "\n".join([*lines, ""])


_FORMS: Final[dict[str, Callable[[Programme], str]]] = {"lp": _lp, "mps": _mps, "jj": _jj}
