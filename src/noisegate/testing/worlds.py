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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.inference import Problem, Sums
from noisegate.laws import Laplace, as_rng
from noisegate.mechanisms import Mechanism
from noisegate.tables import Dimension, Domain, Margin

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

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
    """

    domain: Domain
    margins: Mapping[str, Margin]
    counts: Ints
    mechanisms: Mapping[str, Mechanism]
    published: Mapping[str, Floats]

    def raw(self, table: str, /) -> Ints:
        """The raw counts of all cells of a table."""
        return self.counts if table == BASE else _summed(self.counts, self.margins[table])

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
        return Problem(cells=self.domain.size, tables=tuple(tables))

    def write(self, folder: Path, /) -> list[Path]:
        """The tables as CSV files in `folder`, without the rows of suppressed cells."""
        folder.mkdir(parents=True, exist_ok=True)
        return [self._written(folder / f"{name}.csv", name) for name in self.published]

    def _written(self, path: Path, table: str, /) -> Path:
        shown = np.flatnonzero(~np.isnan(self.published[table]))
        labels = self.domain_of(table).labels(shown)
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([*labels, "count"])
            rows.writerows(zip(*labels.values(), self.published[table][shown].astype(np.int64), strict=True))
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
    counts: Ints | None = None,
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
    counts
        The raw count of every cell, if it is not to be drawn; `COUNT_LAWS` has some of other shapes.
    """
    generator = as_rng(rng)
    domain = shape if isinstance(shape, Domain) else _product(shape)
    wanted = margins if margins is not None else {f"by {name}": [name] for name in domain.names}
    linked = {name: Margin.over(domain, names) for name, names in wanted.items()}
    made = mechanism or recipe_2016(threshold=18)
    mechanisms = {name: made if isinstance(made, Mechanism) else made[name] for name in (BASE, *linked)}
    level = np.full(domain.size, mean)
    if spread > 0:
        level = level * generator.gamma(spread**-2, spread**2, domain.size)
    raw = generator.poisson(level) if counts is None else np.asarray(counts).ravel()
    counts = raw.astype(np.int64)
    published = {BASE: publish_counts(counts, mechanisms[BASE], rng=generator)}
    for name, margin in linked.items():
        published[name] = publish_counts(_summed(counts, margin), mechanisms[name], rng=generator)
    return LinkedWorld(
        domain=domain, margins=linked, counts=counts, mechanisms=mechanisms, published=published
    )


def _busy(rng: np.random.Generator, rows: int, columns: int, /) -> Floats:
    """Intensities that are a product of rows and columns, 10 on average."""
    found = np.exp(rng.normal(0, 0.6, (rows, 1)) + rng.normal(0, 0.6, (1, columns)))
    return np.asarray(10 * found / found.mean())


#: Ways in which counts of a grid of rows and columns may vary: called with a generator and the size of the grid.
COUNT_LAWS: Mapping[str, Callable[[np.random.Generator, int, int], Ints]] = {
    "poisson": lambda rng, n, k: rng.poisson(_busy(rng, n, k)),
    "negative binomial": lambda rng, n, k: rng.poisson(_busy(rng, n, k) * rng.gamma(1, 1, (n, k))),
    "lognormal": lambda rng, n, k: rng.poisson(_busy(rng, n, k) * np.exp(rng.normal(-0.5, 1, (n, k)))),
    "two-humped": lambda rng, n, k: rng.poisson(np.where(rng.random((n, k)) < 0.5, 2.0, 30.0)),
    "uniform": lambda rng, n, k: rng.integers(0, 41, (n, k)),
    "fixed": lambda _, n, k: np.tile(np.where(np.arange(k) % 2, 12, 25), (n, 1)),
    "parties of three": lambda rng, n, k: 3 * rng.poisson(_busy(rng, n, k) / 3),
    "full or empty": lambda rng, n, k: np.where(rng.random((n, k)) < 0.5, 0, rng.poisson(20, (n, k))),
    "stadium day": lambda rng, n, k: rng.poisson(
        _busy(rng, n, k) * np.where((np.arange(k) == k - 5) & (np.arange(n)[:, None] < n // 6), 15, 1)
    ),
}


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
