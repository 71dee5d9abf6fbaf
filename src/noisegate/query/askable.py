"""Tables that answer questions: totals, differences, ratios, ranks and draws, from what one engine knows of their cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.columns import Columns
from noisegate.errors import SpecError
from noisegate.inference import Engine, FitCheck, SumEstimates, checked_level
from noisegate.laws import as_rng
from noisegate.query.answers import Answers
from noisegate.query.drawn import DrawnTables
from noisegate.query.joint import JointSums, Spans, joint_sums, withdrawn_of
from noisegate.tables import Domain, Groups, Question, Selection, Table, Where, conditions_of, find_dimension

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: So many tables are drawn for differences, ratios and ranks; at 400 the ends of a 95 % interval are known to about a twentieth of its width.
DRAWS = 400
_NONE = "no published cell meets all conditions; the card rules this combination out."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asking:
    """The groups of a question that have cells, and the number and the group of every cell."""

    groups: Groups
    used: Ints
    cells: Ints
    group: Ints

    @classmethod
    def of(cls, groups: Groups, /) -> Asking:
        """The groups of a selection, numbered without gaps.

        Raises
        ------
        SpecError
            If no cell is selected.
        """
        if not groups.parts:
            raise SpecError(_NONE)
        used = np.flatnonzero(groups.counts())
        rank = np.full(groups.size, -1, np.int64)
        rank[used] = np.arange(len(used))
        cells, group = groups.numbers()
        return cls(groups=groups, used=used, cells=cells, group=rank[group])

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.used)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The labels of each group, by dimension."""
        return self.groups.labels(self.used)

    def sums(self, values: NDArray[Any], /) -> Ints:
        """Whole numbers of all cells added up by group."""
        return np.rint(self.groups.sums(values)[self.used]).astype(np.int64)


class Askable(ABC):
    """Tables that answer questions. Nothing here has seen more than what was published."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the tables are called."""

    @property
    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """The tables, the base first."""

    @property
    @abstractmethod
    def posterior(self) -> Engine:
        """What is known of every cell of the base, worked out as far as questions need it."""

    @property
    def domain(self) -> Domain:
        """The cells of the base."""
        return self.tables[0].domain

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What the engine found when it tried itself on the tables; nothing if no question has needed it yet."""
        return self.posterior.checks if "posterior" in self.__dict__ else ()

    @cached_property
    def shown_cells(self) -> tuple[Any, Any]:
        """The values of the base's cells, and which of them are shown."""
        return self.tables[0].filled()

    @property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of each dimension."""
        return {d.name: d.labels for d in self.domain.dimensions}

    def query(self, *, where: Where = None, by: str | Sequence[str] = (), level: float = 0.95) -> Columns:
        """How many events meet the conditions, with one row for each group: columns that Polars, DuckDB and Arrow take as they are.

        Parameters
        ----------
        where
            Conditions by dimension: `{"mode": "ferry", "time": "06:00..09:00"}`, or the same as text. Values are
            labels, ranges, integers, dates, times, or lists of these.
        by
            A dimension, or several, whose labels are told apart.
        level
            Of the intervals: each holds the truth with this probability.

        Returns
        -------
        Columns
            Dimensions of `by`, then estimate, low, high, level, cells, suppressed, published, table, withdrawn.

        Notes
        -----
        The truth is the count of events as bounded for the release (`max_cells`); what bounding left out is not in
        any published number. Where rows are missing, intervals assume that counts are near a product of place,
        time and day effects; how near is learnt from the release. Where the tables do not tell, there are bounds and no estimate.
        """
        return self.answer(where=where, by=by, level=level).to_frame()

    def answer(self, *, where: Where = None, by: str | Sequence[str] = (), level: float = 0.95) -> Answers:
        """The same as `query`, in full."""
        asking = Asking.of(Selection.parse(where, self.domain, by=by).groups(self.domain))
        return self._believed(asking, checked_level(level))

    def compare(
        self,
        *,
        where: Where = None,
        to: Where,
        by: str | Sequence[str] = (),
        form: Literal["difference", "ratio"] = "difference",
        level: float = 0.95,
        draws: int = DRAWS,
    ) -> Answers:
        """How many more events meet the conditions of `where` than those of `to`, or how many for each of these.

        Conditions of `where` on other dimensions hold for both. A dimension of `by` that `to` has a condition on is told apart only in what is
        compared: each mode beside buses.
        """
        names = self.domain.names
        first = {names[find_dimension(name, names)]: parts for name, parts in conditions_of(where).items()}
        second = {names[find_dimension(name, names)]: parts for name, parts in conditions_of(to).items()}
        told = [names[find_dimension(name, names)] for name in ((by,) if isinstance(by, str) else by)]
        mine = Asking.of(Selection.parse(first, self.domain, by=told).groups(self.domain))
        other = {**first, **second}
        rest = [name for name in told if name not in second]
        theirs = Asking.of(Selection.parse(other, self.domain, by=rest).groups(self.domain))
        place = _partners(mine.labels, theirs.labels, rest)
        both = self._joint([mine, theirs], checked_level(level), draws)
        pairs = np.flatnonzero(place >= 0), mine.size + place[place >= 0]
        spans = (both.difference if form == "difference" else both.ratio)(*pairs, level=level)
        return self._compared([(self, mine, pairs[0]), (self, theirs, place[pairs[0]])], spans, form, level)

    def change(
        self,
        since: Askable,
        /,
        *,
        where: Where = None,
        by: str | Sequence[str] = (),
        form: Literal["difference", "ratio"] = "difference",
        level: float = 0.95,
        draws: int = DRAWS,
    ) -> Answers:
        """How many more events meet the conditions here than in an earlier release, or how many for each one there.

        The two releases have noise of their own. Groups are matched by their labels; those that only one of them has are left out.
        """
        mine, theirs = (
            Asking.of(Selection.parse(where, one.domain, by=by).groups(one.domain)) for one in (self, since)
        )
        place = _partners(mine.labels, theirs.labels, list(mine.labels))
        sure = checked_level(level)
        both = self._joint([mine], sure, draws).beside(since._joint([theirs], sure, draws, seed=1))
        pairs = np.flatnonzero(place >= 0), mine.size + place[place >= 0]
        spans = (both.difference if form == "difference" else both.ratio)(*pairs, level=level)
        return self._compared([(self, mine, pairs[0]), (since, theirs, place[pairs[0]])], spans, form, level)

    def ranking(
        self,
        *,
        by: str | Sequence[str],
        where: Where = None,
        top: int | None = None,
        level: float = 0.95,
        draws: int = DRAWS,
    ) -> Answers:
        """Totals with the rank of each group among all of them, the largest first, and an interval of the rank."""
        answers = self.answer(where=where, by=by, level=level)
        asking = Asking.of(Selection.parse(where, self.domain, by=by).groups(self.domain))
        ranks = self._joint([asking], checked_level(level), draws).ranks(level=level)
        return replace(answers, form="rank", ranks=ranks).largest(len(answers) if top is None else top)

    def answer_question(self, question: Question, /, *, level: float = 0.95) -> Answers:
        """The answers to one question, the largest only if it asks for these."""
        if question.form in {"difference", "ratio"}:
            to = question.less if question.less is not None else question.per
            ratio = question.form == "ratio"
            answers = self.compare(
                where=question.where,
                to=to,
                by=question.by,
                form="ratio" if ratio else "difference",
                level=level,
            )
        else:
            answers = self.answer(where=question.where, by=question.by, level=level)
        return answers if question.top is None else answers.largest(question.top)

    def draws(self, n: int, /, *, rng: np.random.Generator | None = None) -> Iterator[DrawnTables]:
        """`n` whole releases that could lie behind the published one, drawn from what is known of it.

        Every computation that is put through each of them gets an honest spread. Counts are whole, margins are sums of the base, and what is
        published without noise is kept. The same `rng` gives the same draws; without one they are always the same.
        """
        if n < 1:
            raise SpecError.for_value("draws", found=n, allowed="at least 1")
        generator = np.random.default_rng(0) if rng is None else as_rng(rng)
        for counts in self.posterior.draws(n, rng=generator):
            yield DrawnTables(tables=self.tables, counts=np.asarray(counts, np.int64))

    def _believed(self, asking: Asking, level: float, /) -> Answers:
        """The posterior of each sum of base cells, the same that an assessment reads."""
        found = self._estimates(asking.cells, asking.group, asking.size, level)
        return self._shown(asking, found.mean, found.low, found.high, level, found)

    def _estimates(self, cells: Ints, groups: Ints, size: int, level: float, /) -> SumEstimates:
        return self.posterior.sums(cells, groups, size=size, level=level)

    def _shown(
        self, asking: Asking, estimate: Floats, low: Ints, high: Ints, level: float, found: Any, /
    ) -> Answers:
        values, shown = self.shown_cells
        return Answers(
            labels=asking.labels,
            estimate=estimate,
            low=low,
            high=high,
            cells=asking.groups.counts()[asking.used],
            suppressed=asking.sums(~shown),
            published=asking.sums(values),
            level=level,
            table=self.tables[0].name,
            withdrawn=withdrawn_of(found, asking.size),
        )

    def _joint(self, asked: Sequence[Asking], level: float, draws: int, /, *, seed: int = 0) -> JointSums:
        """Sums of all groups of some questions, drawn together."""
        before = np.concatenate([[0], np.cumsum([one.size for one in asked])]).astype(np.int64)
        cells = np.concatenate([one.cells for one in asked])
        groups = np.concatenate([one.group + start for one, start in zip(asked, before[:-1], strict=True)])
        return self._drawn_sums(cells, groups, int(before[-1]), level, draws, seed)

    def _drawn_sums(
        self, cells: Ints, groups: Ints, size: int, level: float, draws: int, seed: int, /
    ) -> JointSums:
        """Sums of cells by group, drawn together."""
        known = self._estimates(cells, groups, size, level)
        used, place = np.unique(cells, return_inverse=True)
        tables = self.posterior.draws(draws, rng=np.random.default_rng(seed), cells=used)
        return JointSums.matched(joint_sums(tables, place, groups, size=size), known)

    def _compared(
        self,
        sides: Sequence[tuple[Askable, Asking, Ints]],
        spans: Spans,
        form: Literal["difference", "ratio"],
        level: float,
        /,
    ) -> Answers:
        """What was compared, with the cells of both sides and what their published rows give."""
        shown, cells, missing = [], np.zeros(len(spans.low), np.int64), np.zeros(len(spans.low), np.int64)
        for tables, asking, place in sides:
            values, there = tables.shown_cells
            shown.append(asking.sums(values)[place].astype(np.float64))
            cells += asking.groups.counts()[asking.used][place]
            missing += asking.sums(~there)[place]
        rate = np.divide(shown[0], shown[1], out=np.full(len(cells), np.nan), where=shown[1] > 0)
        mine, kept = sides[0][1], sides[0][2].tolist()
        whole = form == "difference"
        return Answers(
            labels={name: [labels[i] for i in kept] for name, labels in mine.labels.items()},
            estimate=spans.estimate,
            low=spans.low.astype(np.int64) if whole else spans.low,
            high=spans.high.astype(np.int64) if whole else spans.high,
            cells=cells,
            suppressed=missing,
            published=(shown[0] - shown[1]).astype(np.int64) if whole else rate,
            level=level,
            table=self.tables[0].name,
            form=form,
            withdrawn=spans.withdrawn,
        )


def _partners(
    mine: Mapping[str, Sequence[str]], theirs: Mapping[str, Sequence[str]], names: Sequence[str], /
) -> Ints:
    """For each group the other one with the same labels of some dimensions, -1 for none.

    Raises
    ------
    SpecError
        If no group has a partner.
    """
    if not names:
        return np.zeros(len(next(iter(mine.values()), [""])), np.int64)
    known = {key: place for place, key in enumerate(zip(*(theirs[name] for name in names), strict=True))}
    found = np.array(
        [known.get(key, -1) for key in zip(*(mine[name] for name in names), strict=True)], np.int64
    )
    if not (found >= 0).any():
        raise SpecError(
            f"no {' and '.join(names)} has cells on both sides of the comparison; tell fewer dimensions apart."
        )
    return found
