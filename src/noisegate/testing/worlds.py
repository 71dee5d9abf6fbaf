"""Small worlds with known truth: a base table and its margins, published by any mechanisms.

Ten lines try a new shape of data:

>>> import numpy as np
>>> from noisegate.laws import DiscreteLaplace
>>> from noisegate.mechanisms import Mechanism
>>> world = make_world(
...     {"sex": 2, "age": 5, "area": 30},
...     margins={"by area": ["area"], "by sex and age": ["sex", "age"]},
...     mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb"),
...     rng=np.random.default_rng(1),
... )
>>> world.domain.size, world.published["by area"].shape, world.problem().cells
(300, (30,), 300)
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.inference import Engine, Evidence, Layout, Observation, Problem, RowMap, Sums, engine_for
from noisegate.laws import Laplace, as_rng
from noisegate.mechanisms import Mechanism
from noisegate.tables import Dimension, Domain, Margin, Release
from noisegate.testing.count_laws import COUNT_LAWS, CROSSED_LAWS, SPARSE_LAWS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: What the finest table of a world is called.
BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedWorld:
    """Linked tables as published, and the raw counts behind them.

    Attributes
    ----------
    domain
        That of the base.
    margins
        The other tables by name.
    counts
        The raw count of every cell of the base.
    mechanisms, published
        How each table was made, and what it shows: NaN where a cell is suppressed.
    remainder
        For each margin that counts people in cells which no table lists, how many in each of its cells.
    zero
        Cells that are empty for a public reason; None if there is none.
    release
        The release with its card, if the world was published by `noisegate.releases`; what its tables show is in `published`.
    """

    domain: Domain
    margins: Mapping[str, Margin]
    counts: Ints
    mechanisms: Mapping[str, Mechanism]
    published: Mapping[str, Floats]
    remainder: Mapping[str, Ints] = field(default_factory=dict)
    zero: Bools | None = None
    release: Release | None = None

    def raw(self, table: str, /) -> Ints:
        """The raw counts of all cells of a table."""
        if table == BASE:
            return self.counts
        return _summed(self.counts, self.margins[table]) + self.remainder.get(table, 0)

    @property
    def hidden(self) -> Ints:
        """The cells of the base that are not shown and could hold somebody."""
        missing = np.isnan(self.published[BASE])
        return np.flatnonzero(missing if self.zero is None else missing & ~self.zero)

    def domain_of(self, table: str, /) -> Domain:
        """The cells of a table."""
        return self.domain if table == BASE else self.margins[table].domain

    def problem(self) -> Problem:
        """What an attacker who knows the mechanisms has to solve."""
        tables = [Sums.of_cells(self.published[BASE], mechanism=self.mechanisms[BASE], name=BASE)]
        cells = np.arange(self.domain.size)
        for name, margin in self.margins.items():
            made = self.mechanisms[name]
            tables.append(Sums.by(margin.of(cells), self.published[name], mechanism=made, name=name))
        return Problem(cells=self.domain.size, tables=tuple(tables), structural_zero=self.zero)

    def evidence(self) -> Evidence:
        """What the tables say to somebody who knows the mechanisms, or who has the card."""
        if self.release is not None:
            return Evidence.of(self.release, zero=self.zero)
        seen = {
            name: Observation(
                name=name,
                values=self.published[name],
                mechanism=self.mechanisms[name],
                rows=None if name == BASE else RowMap.between(self.margins[name]),
            )
            for name in self.published
        }
        base = seen.pop(BASE)
        return Evidence(
            layout=Layout.of(self.domain), base=base, margins=tuple(seen.values()), zero=self.zero
        )

    def engine(self) -> Engine:
        """The engine that serves what the tables say."""
        return engine_for(self.evidence())

    def write(self, folder: Path, /, *, marker: str | None = None) -> list[Path]:
        """The tables as CSV files in `folder`, without the rows of suppressed cells, or with `marker` in them."""
        folder.mkdir(parents=True, exist_ok=True)
        return [self._written(folder / f"{name}.csv", name, marker) for name in self.published]

    def _written(self, path: Path, table: str, marker: str | None, /) -> Path:
        values = self.published[table]
        listed = np.flatnonzero(~np.isnan(values)) if marker is None else np.arange(len(values))
        labels = self.domain_of(table).labels(listed)
        said = [marker if np.isnan(value) else int(value) for value in values[listed].tolist()]
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([*labels, "count"])
            rows.writerows(zip(*labels.values(), said, strict=True))
        return path


def make_world(
    shape: Domain | Mapping[str, int],
    /,
    *,
    rng: np.random.Generator,
    margins: Mapping[str, Sequence[str]] | None = None,
    mechanism: Mechanism | Mapping[str, Mechanism] | None = None,
    mean: float = 8.0,
    spread: float = 1.0,
    law: str | None = None,
    counts: Ints | None = None,
    unlisted: int = 0,
    closed: float = 0.0,
) -> LinkedWorld:
    """A world of random counts, published with its margins.

    Parameters
    ----------
    shape
        The domain of the base, or the number of labels of each dimension.
    margins
        The dimensions of each further table; one table by each dimension by default.
    mechanism
        How tables are made, or one for each by name (`base` is the finest); that of 2016 by default.
    mean, spread
        The mean count of a cell, and how much cells differ: 0 says only by chance; at 1 the standard deviation of
        their means is the mean.
    law
        One of `COUNT_LAWS`, `SPARSE_LAWS` or `CROSSED_LAWS` in place of `mean` and `spread`; the first dimension is its rows, the others its columns.
    counts
        The raw count of every cell, if it is not to be drawn.
    unlisted
        So many further labels of the first dimension have people whom totals count and no table lists.
    closed
        The share of cells that are empty for a public reason.
    """
    generator = as_rng(rng)
    domain = shape if isinstance(shape, Domain) else _product(shape)
    wanted = margins if margins is not None else {f"by {name}": [name] for name in domain.names}
    linked = {name: Margin.over(domain, names) for name, names in wanted.items()}
    made = mechanism or recipe_2016(threshold=18)
    mechanisms = {name: made if isinstance(made, Mechanism) else made[name] for name in (BASE, *linked)}
    raw, more = _drawn(domain, generator, law=law, mean=mean, spread=spread, unlisted=unlisted)
    if counts is not None:
        raw = np.asarray(counts, np.int64).ravel()
    zero = generator.random(domain.size) < closed if closed else None
    raw = raw if zero is None else np.where(zero, 0, raw)
    remainder = {
        name: _summed(more, margin)
        for name, margin in linked.items()
        if unlisted and domain.names[0] not in margin.domain.names
    }
    sums = {BASE: raw, **{n: _summed(raw, m) + remainder.get(n, 0) for n, m in linked.items()}}
    published = {name: publish_counts(sums[name], mechanisms[name], rng=generator) for name in sums}
    return LinkedWorld(
        domain=domain,
        margins=linked,
        counts=raw,
        mechanisms=mechanisms,
        published=published,
        remainder=remainder,
        zero=zero,
    )


def _drawn(
    domain: Domain,
    rng: np.random.Generator,
    /,
    *,
    law: str | None,
    mean: float,
    spread: float,
    unlisted: int,
) -> tuple[Ints, Ints]:
    """Counts of the cells, and what unlisted labels of the first dimension add, cell by cell of its first label."""
    rows = len(domain.dimensions[0].labels)
    laws = {**COUNT_LAWS, **SPARSE_LAWS, **CROSSED_LAWS}
    if law is not None and law not in laws:
        raise SpecError.for_choice("law", found=law, allowed=tuple(laws))
    if (law is not None or unlisted) and domain.size % rows:
        raise SpecError(
            "a law of rows and columns needs a domain that is a product; give its counts instead."
        )
    size = domain.size if law is None and not unlisted else (rows + unlisted) * (domain.size // rows)
    if law is not None:
        found = laws[law](rng, rows + unlisted, domain.size // rows).ravel()
    else:
        level = np.full(size, mean)
        if spread > 0:
            level = level * rng.gamma(spread**-2, spread**2, size)
        found = rng.poisson(level)
    more = np.zeros(domain.size, np.int64)
    if unlisted:
        more[: domain.size // rows] = found[domain.size :].reshape(unlisted, -1).sum(axis=0)
    return found[: domain.size].astype(np.int64), more


def recipe_2016(*, threshold: float) -> Mechanism:
    """Laplace noise of scale 1.4, zeros kept, cut before rounding."""
    return Mechanism(law=Laplace(1.4), threshold=threshold, rounding="nearest", cut="before")


def publish_counts(counts: ArrayLike, mechanism: Mechanism, /, *, rng: np.random.Generator) -> Floats:
    """One draw of what a mechanism shows for each raw count: NaN where it suppresses. For simulations only."""
    generator, raw = as_rng(rng), np.asarray(counts, np.int64)
    noisy, alike = raw.astype(np.float64), mechanism.law.alike(raw)
    for kind in np.unique(alike).tolist():
        here = alike == kind
        noisy[here] += mechanism.law.at(kind).sample(int(here.sum()), rng=generator)
    if mechanism.zeros == "keep":
        noisy = np.where(raw == 0, 0.0, noisy)
    shown = np.rint(noisy) if mechanism.rounding == "nearest" else noisy
    if mechanism.threshold is None:
        return shown
    judged = noisy if mechanism.cuts_before_rounding else shown
    passes = judged > mechanism.threshold if mechanism.rule == "gt" else judged >= mechanism.threshold
    return np.where(passes, shown, np.nan)


def _product(sizes: Mapping[str, int], /) -> Domain:
    return Domain.product(
        Dimension(name=name, values=tuple(f"{name} {n}" for n in range(size))) for name, size in sizes.items()
    )


def _summed(counts: Ints, margin: Margin, /) -> Ints:
    cells = margin.of(np.arange(len(counts)))
    return np.bincount(cells, weights=counts, minlength=margin.domain.size).astype(np.int64)
