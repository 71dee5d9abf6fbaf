"""SQL of an event's cell, and of why it has none, for every engine that is spoken to in SQL.

A cell is a sum of terms, one for each dimension or nested axis; a small table has the terms of values that are looked up. How an engine calls columns and
counts days is its `SqlDialect`; all else is the same, and stands here alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noisegate.engine.plan import CellPlan, NestPlan, Reason
from noisegate.engine.quoting import literal
from noisegate.spec import CalendarDimension, DateDimension


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDialect:
    """How an engine names what a plan numbers, and what it calls the arithmetic of days.

    Attributes
    ----------
    value, missing
        The value of dimension `n` (text, or the number of a day or bin), and whether its column is missing.
    looked_up, nested
        A column of the small table of dimension, or nest, `n`.
    listed
        For dimensions without a small table, what each of its columns is made of.
    days
        The days from `first` to `day`.
    weekday
        The number of the day of the week, Monday first.
    """

    value: str = "e.v{n}"
    missing: str = "e.m{n}"
    looked_up: str = "l{n}.{column}"
    nested: str = "n{n}.{column}"
    listed: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    days: str = "({day} - DATE {first})"
    weekday: str = "(CAST(extract(isodow FROM {day}) AS BIGINT) - 1)"

    def found(self, n: int, column: str, /) -> str:
        """What the value of a dimension is looked up for."""
        return self.listed[n][column] if n in self.listed else self.looked_up.format(n=n, column=column)

    def term(self, value: str, size: int, /, *, start: int, step: int) -> tuple[str, str]:
        """What must hold, if anything, for `value` to be one of `size` numbers from 0 on; and then `start` and so many steps as it says, else NULL."""
        steps = f"CAST({value} AS BIGINT) * {step}" if step else ""
        return f"{value} BETWEEN 0 AND {size - 1}", " + ".join(filter(None, [str(start or ""), steps])) or "0"

    def number_of(self, day: str, spec: DateDimension | CalendarDimension, /) -> str:
        """The number of a day, a day of the week, a week or a month."""
        if isinstance(spec, DateDimension):
            return self.days.format(day=day, first=literal(spec.first.isoformat()))
        if spec.each == "weekday":
            return self.weekday.format(day=day)
        if spec.each == "week":
            days = self.days.format(day=day, first=literal(spec.start.isoformat()))
            return f"CAST(floor({days} / 7.0) AS BIGINT)"
        months = f"12 * extract(year FROM {day}) + extract(month FROM {day})"
        return f"(CAST({months} AS BIGINT) - {12 * spec.start.year + spec.start.month})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTerms:
    """The cell of an event of a plan in a dialect."""

    plan: CellPlan
    dialect: SqlDialect

    @property
    def cell(self) -> str:
        """The number of the cell; NULL outside."""
        plan = self.plan
        sums = [self._sum(block) for block in range(plan.blocks)]
        return f"coalesce({', '.join(sums)})" if len(sums) > 1 else f"({sums[0]})"

    def number(self, otherwise: str, /, *, ahead: str = "", given: str = "") -> str:
        """`ahead` and the number of the cell if there is one and `given` holds; else `otherwise`.

        With one block it is one condition: an engine that finds it to hold for all of many rows copies none of them.
        """
        if self.plan.blocks > 1:
            inside = f"CASE WHEN {given} THEN {ahead}{self.cell} END" if given else f"{ahead}{self.cell}"
            return f"coalesce({inside}, {otherwise})"
        conditions, looked_up, steps = self._parts(0)
        every = [*filter(None, [given]), *conditions, *(f"{term} IS NOT NULL" for term in looked_up)]
        whole = " + ".join([*looked_up, *steps])
        return f"CASE WHEN {' AND '.join(every)} THEN {ahead}{whole} ELSE {otherwise} END" if every else whole

    def nest_key(self, nest: NestPlan, /) -> str:
        """The number of an event's combination of values; NULL if one of them is not in its list."""
        key = ""
        for n, size in zip(nest.dimensions, nest.sizes, strict=True):
            digit = (
                self.dialect.found(n, "code")
                if self.plan.dimensions[n].steps is None
                else f"CASE WHEN {self._inside(n, size)} THEN {self._wide(n)} END"
            )
            key = f"({key} * {size} + {digit})" if key else digit
        return key

    @property
    def why(self) -> str:
        """The negative number of the first reason why an event has no cell; NULL inside."""
        names = [dim.name for dim in self.plan.dimensions]
        whens = []
        for reason in self.plan.reasons:
            if reason.cause != "person":
                n = names.index(reason.dimension) if reason.dimension else None
                condition = f"{self.cell} IS NULL" if n is None else self._condition(reason, n)
                whens.append(f"WHEN {condition} THEN {self.plan.code(reason)}")
        return f"CASE {' '.join(whens)} END"

    @property
    def day(self) -> str:
        """The number of the day, 0 if the plan has no days."""
        days = [n for n, dim in enumerate(self.plan.dimensions) if isinstance(dim.spec, DateDimension)]
        return self.dialect.value.format(n=days[0]) if days else "0"

    def _inside(self, n: int, size: int, /) -> str:
        return f"{self.dialect.value.format(n=n)} BETWEEN 0 AND {size - 1}"

    def _wide(self, n: int, /) -> str:
        return f"CAST({self.dialect.value.format(n=n)} AS BIGINT)"

    def _sum(self, block: int, /) -> str:
        """The cell if it lies in a block, else NULL: what must hold is asked in one place."""
        conditions, looked_up, steps = self._parts(block)
        whole = " + ".join([*looked_up, *steps])
        return f"CASE WHEN {' AND '.join(conditions)} THEN {whole} END" if conditions else whole

    def _parts(self, block: int, /) -> tuple[list[str], list[str], list[str]]:
        """For a block what must hold, the terms that are looked up, NULL outside, and the steps of numbers."""
        plan = self.plan
        alone = [(n, dim) for n, dim in enumerate(plan.dimensions) if not dim.nested]
        looked_up = [self.dialect.found(n, f"t{block}") for n, dim in alone if dim.steps is None]
        looked_up += [self.dialect.nested.format(n=n, column=f"t{block}") for n in range(len(plan.nests))]
        conditions, steps = [], []
        for n, dim in alone:
            if dim.steps is not None:
                value, (start, step) = self.dialect.value.format(n=n), dim.steps[block]
                inside, term = self.dialect.term(value, dim.size, start=start, step=step)
                conditions += [inside] if inside else []
                steps.append(term)
        return conditions, looked_up, steps

    def _condition(self, reason: Reason, n: int, /) -> str:
        missing, value = self.dialect.missing.format(n=n), self.dialect.value.format(n=n)
        if reason.cause == "unreadable":
            return f"NOT ({missing}) AND {value} IS NULL"
        if reason.cause == "missing":
            return missing
        dim = self.plan.dimensions[n]
        if dim.steps is None:
            return f"{self.dialect.found(n, 'code')} IS NULL"
        return f"NOT {self._inside(n, dim.size)}"
