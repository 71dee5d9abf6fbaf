"""Ranges of cells from one equation at a time, to a fixed point, with a log that says what each step rests on.

In `Σ ± x = b` no term can be larger than what is left when all others are as small as they can be. Every step is logged,
so that a bound is proven by the equations that led to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.inference.bounds.equations import ENDLESS, Equations, Ints, Signs
from noisegate.laws import compiled

#: An equation is looked at so many times on average before what is left is given to the solver.
_VISITS = 60
LOW, HIGH = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Narrowed:
    """Ranges at the fixed point, and the log of how they came about.

    Attributes
    ----------
    low, high
        Of every cell.
    conflict
        The equation that cannot hold, after the last step of the log; -1 if there is none.
    settled
        Whether the fixed point was reached.
    last
        Shape (cells, 2): the last step that moved the lower and the upper end; -1 for none.
    steps
        Shape (steps, 4): cell, end, equation, and the step before it of the same cell and end.
    """

    equations: Equations
    low: Ints
    high: Ints
    conflict: int
    settled: bool
    last: Ints
    steps: Ints

    def proof(self, ends: Ints, /) -> Ints:
        """The equations that prove the ends in `ends`, shape (n, 2): cell and end."""
        if not len(ends) or not len(self.steps):
            return np.zeros(0, np.int64)
        first = self.last[ends[:, 0], ends[:, 1]]
        e = self.equations
        return _rest_on(first[first >= 0], self.steps, self.last, e.starts, e.cells, e.signs)

    def conflict_proof(self) -> Ints:
        """The equations that contradict each other."""
        cells, signs = self.equations.terms(self.conflict)
        least = np.where(signs > 0, self.low[cells], -self.high[cells]).sum()
        too_large = bool(least > self.equations.right[self.conflict])
        ends = np.where((signs > 0) == too_large, LOW, HIGH)
        return np.unique(np.append(self.proof(np.stack([cells, ends], axis=1)), self.conflict))


def narrow(low: Ints, high: Ints, equations: Equations, /, *, visits: int = _VISITS) -> Narrowed:
    """The ranges that follow from the equations one by one, again and again until nothing changes.

    Parameters
    ----------
    visits
        How often an equation is looked at, on average, before it is stopped.
    """
    starts, rows, _ = equations.by_cell(low.size)
    least, most = low.astype(np.int64), np.minimum(high, ENDLESS).astype(np.int64)
    last = np.full((low.size, 2), -1, np.int64)
    steps, conflict, settled = _narrow(
        equations.starts,
        equations.cells,
        equations.signs,
        equations.right,
        starts,
        rows,
        least,
        most,
        last,
        max(visits * len(equations), 1),
    )
    return Narrowed(
        equations=equations,
        low=least,
        high=most,
        conflict=int(conflict),
        settled=bool(settled),
        last=last,
        steps=steps,
    )


@compiled
def _narrow(  # noqa: C901, PLR0912, PLR0915 - one loop over one queue
    starts: Ints,
    cells: Ints,
    signs: Signs,
    right: Ints,
    of_cell: Ints,
    rows: Ints,
    low: Ints,
    high: Ints,
    last: Ints,
    budget: int,
    /,
) -> tuple[Ints, int, bool]:
    """Log of steps, the equation that cannot hold (-1: none), whether a fixed point was reached; moves the ranges."""
    count = right.size
    steps = np.empty((1024, 4), np.int64)
    made = 0
    queue = np.empty(count + 1, np.int64)
    waiting = np.ones(count, np.bool_)
    for row in range(count):
        queue[row] = row
    head, tail, length = 0, count % (count + 1), count
    visited = 0
    while length > 0:
        if visited >= budget:
            return steps[:made], -1, False
        visited += 1
        row = queue[head]
        head = (head + 1) % (count + 1)
        length -= 1
        waiting[row] = False
        least, most, open_least, open_most = 0, 0, 0, 0
        for at in range(starts[row], starts[row + 1]):
            cell = cells[at]
            if signs[at] > 0:
                least += low[cell]
                if high[cell] >= ENDLESS:
                    open_most += 1
                else:
                    most += high[cell]
            else:
                most -= low[cell]
                if high[cell] >= ENDLESS:
                    open_least += 1
                else:
                    least -= high[cell]
        b = right[row]
        if (open_least == 0 and least > b) or (open_most == 0 and most < b):
            return steps[:made], row, True
        if open_least > 1 and open_most > 1:
            continue
        for at in range(starts[row], starts[row + 1]):
            cell = cells[at]
            lo, hi = low[cell], high[cell]
            if lo == hi:
                continue
            endless = hi >= ENDLESS
            new_lo, new_hi = lo, hi
            if signs[at] > 0:
                if open_least == 0:
                    new_hi = min(hi, b - (least - lo))
                if open_most == 0 or (open_most == 1 and endless):
                    rest = most if endless else most - hi
                    new_lo = max(lo, b - rest)
            else:
                if open_most == 0:
                    new_hi = min(hi, (most + lo) - b)
                if open_least == 0 or (open_least == 1 and endless):
                    rest = least if endless else least + hi
                    new_lo = max(lo, rest - b)
            for end in range(2):
                if (end == 0 and new_lo > lo) or (end == 1 and new_hi < hi):
                    if made == steps.shape[0]:
                        longer = np.empty((2 * made, 4), np.int64)
                        longer[:made] = steps
                        steps = longer
                    steps[made, 0], steps[made, 1], steps[made, 2] = cell, end, row
                    steps[made, 3] = last[cell, end]
                    last[cell, end] = made
                    made += 1
            if new_lo > lo or new_hi < hi:
                low[cell], high[cell] = new_lo, new_hi
                for place in range(of_cell[cell], of_cell[cell + 1]):
                    other = rows[place]
                    if not waiting[other]:
                        waiting[other] = True
                        queue[tail] = other
                        tail = (tail + 1) % (count + 1)
                        length += 1
                if signs[at] > 0:
                    least += new_lo - lo
                    if not endless:
                        most += new_hi - hi
                    elif new_hi < ENDLESS:
                        open_most -= 1
                        most += new_hi
                else:
                    most -= new_lo - lo
                    if not endless:
                        least -= new_hi - hi
                    elif new_hi < ENDLESS:
                        open_least -= 1
                        least -= new_hi
    return steps[:made], -1, True


@compiled
def _rest_on(first: Ints, steps: Ints, last: Ints, starts: Ints, cells: Ints, signs: Signs, /) -> Ints:
    """The equations that these steps rest on: their own, and those of the steps before that moved the other cells."""
    seen = np.zeros(steps.shape[0], np.bool_)
    used = np.zeros(starts.size - 1, np.bool_)
    stack = np.empty(steps.shape[0] + 1, np.int64)
    height = 0
    for step in first:
        if not seen[step]:
            seen[step] = True
            stack[height] = step
            height += 1
    while height > 0:
        height -= 1
        step = stack[height]
        cell, end, row = steps[step, 0], steps[step, 1], steps[step, 2]
        used[row] = True
        sign = 1
        for at in range(starts[row], starts[row + 1]):
            if cells[at] == cell:
                sign = signs[at]
        others_low = (sign > 0) == (end == 1)
        for at in range(starts[row], starts[row + 1]):
            other = cells[at]
            if other == cell:
                continue
            side = 0 if (signs[at] > 0) == others_low else 1
            before = last[other, side]
            while before >= step:
                before = steps[before, 3]
            if before >= 0 and not seen[before]:
                seen[before] = True
                stack[height] = before
                height += 1
    return np.flatnonzero(used)
