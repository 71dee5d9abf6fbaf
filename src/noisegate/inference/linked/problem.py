"""A problem: integer cells nobody may see, the noisy sums of them that were published, and what is believed beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import DataError, SpecError
from noisegate.mechanisms import Mechanism
from noisegate.tables import compact

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Shares that are to add up to one may be off by this.
_SHARES_OFF = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """One published table: noisy sums over sets of cells.

    Parameters
    ----------
    indptr, indices
        Row r sums the cells `indices[indptr[r]:indptr[r + 1]]`, each once.
    values
        What was published for each row; NaN says that the row was suppressed.
    mechanism
        How each raw sum became its published value.
    name
        The table's name, for messages.
    """

    indptr: Ints
    indices: Ints
    values: Floats
    mechanism: Mechanism
    name: str = "table"

    def __post_init__(self) -> None:
        indptr, indices = _csr(self.indptr, self.indices, what=self.name)
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (len(indptr) - 1,):
            raise SpecError.for_value(
                f"values of {self.name}",
                found=values.shape,
                allowed=f"one for each of {len(indptr) - 1} rows",
            )
        _check_values(values, mechanism=self.mechanism, name=self.name)
        for name, array in (("indptr", indptr), ("indices", indices), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def rows(self) -> int:
        """How many sums the table has."""
        return len(self.values)

    @classmethod
    def of_cells(
        cls, values: ArrayLike, /, *, mechanism: Mechanism, cells: ArrayLike | None = None, name: str = "base"
    ) -> Self:
        """The table of single cells: `values[k]` belongs to `cells[k]`, or to cell k."""
        numbers = np.asarray(values, dtype=np.float64)
        which = np.arange(len(numbers)) if cells is None else np.asarray(cells)
        return cls(
            indptr=np.arange(len(numbers) + 1), indices=which, values=numbers, mechanism=mechanism, name=name
        )

    @classmethod
    def by(
        cls, codes: ArrayLike, values: ArrayLike, /, *, mechanism: Mechanism, name: str = "margin"
    ) -> Self:
        """The margin in which `values[g]` belongs to the sum of all cells with code g; -1 is in none."""
        numbers = np.asarray(values, dtype=np.float64)
        indptr, indices = group(np.asarray(codes, dtype=np.int64), groups=len(numbers), what=name)
        return cls(indptr=indptr, indices=indices, values=numbers, mechanism=mechanism, name=name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Identities:
    """Equations among raw cells, free of noise: in each row the signed cells add up to zero."""

    indptr: Ints
    indices: Ints
    signs: Ints

    def __post_init__(self) -> None:
        indptr, indices = _csr(self.indptr, self.indices, what="identities")
        signs = np.array(self.signs, dtype=np.int64)
        if signs.shape != indices.shape or not np.isin(signs, (-1, 1)).all():
            raise SpecError("an identity needs a sign, 1 or -1, for each of its cells.")
        for name, array in (("indptr", indptr), ("indices", indices), ("signs", signs)):
            object.__setattr__(self, name, array)

    @classmethod
    def between_cells(cls, left: ArrayLike, right: ArrayLike, /) -> Self:
        """`left[k]` and `right[k]` are the same count: on here is off there, half an hour later."""
        a, b = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        if a.shape != b.shape or a.ndim != 1:
            raise SpecError.for_value(
                "pairs of equal cells", found=(a.shape, b.shape), allowed="two equal lists"
            )
        indices = np.stack([a, b], axis=1).ravel()
        return cls(indptr=np.arange(0, len(indices) + 1, 2), indices=indices, signs=np.tile([1, -1], len(a)))

    @classmethod
    def between_groups(cls, left: ArrayLike, right: ArrayLike, /, *, groups: int) -> Self:
        """The cells with code g on the left and those with code g on the right have one sum."""
        a, b = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        cells = np.concatenate([np.arange(len(a)), np.arange(len(b))])
        signs = np.repeat([1, -1], [len(a), len(b)])
        indptr, order = group(np.concatenate([a, b]), groups=groups, what="identities")
        return cls(indptr=indptr, indices=cells[order], signs=signs[order])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Cells and everything that was published about them.

    Parameters
    ----------
    cells
        How many cells there are.
    tables
        What was published.
    identities
        Equations that the raw cells are known to satisfy.
    structural_zero
        Cells that are zero for a public reason: no service at that stop and time.
    """

    cells: int
    tables: tuple[Sums, ...]
    identities: tuple[Identities, ...] = ()
    structural_zero: Bools | None = None

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise SpecError.for_value("cells", found=self.cells, allowed="at least 1")
        object.__setattr__(self, "tables", tuple(self.tables))
        object.__setattr__(self, "identities", tuple(self.identities))
        named = [table.indices for table in self.tables]
        named += [identity.indices for identity in self.identities]
        for indices in named:
            if indices.size and not 0 <= indices.min() <= indices.max() < self.cells:
                raise SpecError(f"a table or identity names a cell outside 0 .. {self.cells - 1}.")
        zeros = np.zeros(self.cells, dtype=bool) if self.structural_zero is None else self.structural_zero
        zeros = np.array(zeros, dtype=bool)
        if zeros.shape != (self.cells,):
            raise SpecError.for_value(
                "structural_zero", found=zeros.shape, allowed=f"one flag for each of {self.cells} cells"
            )
        object.__setattr__(self, "structural_zero", zeros)

    @property
    def zeros(self) -> Bools:
        """Which cells are structurally zero."""
        assert self.structural_zero is not None
        return self.structural_zero


def group(codes: Ints, /, *, groups: int, what: str) -> tuple[Ints, Ints]:
    """Rows (indptr, indices) of the places that carry each code 0 .. groups-1; -1 is skipped."""
    if codes.ndim != 1 or (codes.size and not -1 <= codes.min() <= codes.max() < groups):
        raise SpecError.for_value(
            f"codes of {what}", found="others", allowed=f"one list of -1 .. {groups - 1}"
        )
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes + 1, minlength=groups + 1)
    return np.concatenate([[0], np.cumsum(counts[1:])]), order[counts[0] :]


def tally(codes: NDArray[np.integer], weights: ArrayLike, /, *, size: int = 0) -> Floats:
    """The weights added up by code."""
    return np.asarray(np.bincount(codes, weights=np.asarray(weights), minlength=size), dtype=np.float64)


def contradiction() -> DataError:
    """The error for tables that no counts can explain."""
    return DataError("the tables contradict each other: no counts could have been published like this.")


def unheard() -> DataError:
    """The error for cells that neither a table nor a prior says anything about."""
    return DataError(
        "some cells are in no published or suppressed sum, and a flat prior says nothing about them; leave "
        "them out or use an informed prior."
    )


def _csr(indptr: ArrayLike, indices: ArrayLike, /, *, what: str) -> tuple[Ints, Ints]:
    rows, cells = np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int64)
    if rows.ndim != 1 or cells.ndim != 1 or rows.size == 0 or rows[0] != 0 or rows[-1] != cells.size:
        raise SpecError(f"{what}: indptr must run from 0 to the number of indices.")
    if (np.diff(rows) < 0).any():
        raise SpecError(f"{what}: indptr must not decrease.")
    return rows, cells


def _check_values(values: Floats, /, *, mechanism: Mechanism, name: str) -> None:
    """Refuse values that the mechanism cannot have published."""
    shown = values[~np.isnan(values)]
    if mechanism.zeros == "show":
        shown = shown[shown != 0]
    if np.isinf(shown).any():
        raise DataError(f"{name} has infinite values; leave out rows that were never asked for.")
    if np.isnan(values).any() and mechanism.threshold is None:
        raise DataError(
            f"{name} has suppressed rows, but its mechanism suppresses nothing; give a threshold."
        )
    if mechanism.integers and (shown != np.rint(shown)).any():
        raise DataError(f"{name} has values that are not integers, but its mechanism publishes integers.")
    if mechanism.threshold is None or not shown.size:
        return
    least = float(shown.min())
    edge = least + 0.5 if mechanism.cuts_before_rounding else least
    if not mechanism.passes(edge):
        word = "above" if mechanism.rule == "gt" else "at least"
        raise DataError(
            f"{name} has the value {least:g}, but its mechanism publishes only what is {word} "
            f"{mechanism.threshold:g}; lower the threshold."
        )


@dataclass(frozen=True, slots=True)
class Flat:
    """Every count is as likely as any other: the attacker with minimal knowledge."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Humps:
    """Other laws that the counts of a part may have than the negative binomial of their cells, which keeps the share `plain`.

    `stray` is the share of cells that are of no hump at all. Hump k has a share, and around `factor[k] * mean**power[k]` counts are Poisson; wider, if it has a dispersion; narrower, if `temper[k]` is above 1, as far as a dispersion below 0 leaves it so: then counts have a capacity of -1 / dispersion, as a binomial law has, and vary the less the nearer they are to it.
    `tighter` is what sums of cells vary by, as a share of what these laws say: counts that do not vary at all have laws that leave them some room, since cells that cannot give way would be empty instead. `tighter_sd` is how unsure that share is.
    `relative` is the relative variance of the cells that humps were learnt from, by their negative binomials: a cell whose own is clearly larger has an intensity that is less sure, and humps that follow it are wider by that.
    """

    plain: float
    stray: float
    share: Floats
    factor: Floats
    power: Floats
    dispersion: Floats
    temper: Floats
    tighter: float = 1.0
    tighter_sd: float = 0.0
    relative: float = math.inf

    def __post_init__(self) -> None:
        whole = self.plain + float(self.share.sum())
        if abs(whole - 1) > _SHARES_OFF or self.plain < 0 or (self.share < 0).any():
            raise SpecError.for_value("shares of humps", found=whole, allowed="at least 0, together 1")
        if not ((self.factor > 0).all() and (self.temper >= 1).all()):
            raise SpecError("humps need factors above 0 and powers of at least 1.")

    @property
    def narrow(self) -> bool:
        """Whether counts vary less than by chance around their intensities, whatever hump they are of."""
        return bool((self.temper > 1).all())

    @property
    def tight(self) -> bool:
        """Whether sums of cells, or whole rows, vary by less than laws of cells say."""
        return self.tighter < 1 or bool((self.dispersion < 0).any())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NegativeBinomial:
    """Over-dispersed counts, one mean for every cell: the informed attacker.

    Cell i has variance `mean[i] + mean[i]**2 / shape[i]`; with probability `zero_share[i]` it is
    zero for a reason of its own (no service). With probability `stray_share[i]` it strays from its mean for a reason of its
    own (half a service): any count is possible then, by a geometric law with the same mean. A shape of 1e9 is as good as Poisson.
    Cell i may have the law `humps[hump_of[i]]` besides; -1 is none.
    """

    mean: Floats
    shape: Floats
    zero_share: Floats
    stray_share: Floats = field(default_factory=lambda: np.zeros(1))
    humps: tuple[Humps, ...] = ()
    hump_of: Ints = field(default_factory=lambda: np.full(1, -1, np.int64))

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64)
        if mean.ndim != 1 or not (np.isfinite(mean) & (mean >= 0)).all():
            raise SpecError("prior means must be a list of finite numbers of at least 0.")
        shape = np.broadcast_to(np.asarray(self.shape, dtype=np.float64), mean.shape).copy()
        share = np.broadcast_to(np.asarray(self.zero_share, dtype=np.float64), mean.shape).copy()
        if not (np.isfinite(shape) & (shape > 0)).all():
            raise SpecError("prior shapes must be finite and above 0.")
        stray = np.broadcast_to(np.asarray(self.stray_share, dtype=np.float64), mean.shape).copy()
        if not ((share >= 0) & (stray >= 0) & (share + stray < 1)).all():
            raise SpecError("shares of zeros and of strays must be at least 0 and together below 1.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "zero_share", share)
        object.__setattr__(self, "stray_share", stray)
        object.__setattr__(self, "hump_of", np.broadcast_to(self.hump_of, mean.shape).astype(np.int64))

    def at(self, cells: Ints, /) -> NegativeBinomial:
        """The prior of some of the cells."""
        return NegativeBinomial(
            mean=self.mean[cells],
            shape=self.shape[cells],
            zero_share=self.zero_share[cells],
            stray_share=self.stray_share[cells],
            humps=self.humps,
            hump_of=self.hump_of[cells],
        )


Prior = Flat | NegativeBinomial


def crossed(*, row: ArrayLike, column: ArrayLike, day: ArrayLike | None = None) -> tuple[Ints, ...]:
    """The effects of a table of rows by columns by days: each dimension, and each pair of them."""
    given = [row, column] if day is None else [row, column, day]
    parts = [as_codes(values) for values in given]
    pairs = [
        parts[a] * (parts[b].max() + 1) + parts[b]
        for a in range(len(parts))
        for b in range(a + 1, len(parts))
    ]
    return (*parts, *pairs)


def as_codes(values: ArrayLike, /) -> Ints:
    """Whole numbers from 0 for values of any kind, equal where these are equal."""
    given = np.asarray(values)
    if np.issubdtype(given.dtype, np.integer):
        return compact(given.astype(np.int64))[1]
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def codes_of_cells(values: ArrayLike, /, *, cells: int) -> Ints:
    """`as_codes`, once it is known that there is a value for each cell."""
    given = np.asarray(values)
    if given.shape != (cells,):
        raise SpecError.for_value(
            "codes of effects and groups", found=given.shape, allowed=f"one for each of {cells} cells"
        )
    return as_codes(given)


def same_partition(a: NDArray[np.integer], b: NDArray[np.integer], /) -> bool:
    """Whether two lists of codes, each from 0 without gaps, put the same cells together."""
    levels = int(a.max(initial=-1)) + 1
    if levels != int(b.max(initial=-1)) + 1:
        return False
    return len(compact(a.astype(np.int64) * levels + b)[0]) == levels


def components(left: Ints, right: Ints, size: int, /) -> Ints:
    """For each of `size` things the number of the group it belongs to, when pairs tie their groups together.

    Examples
    --------
    >>> components(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [0, 1, 0, 2, 2]
    """
    # Takes long to load, and small tables need none of it.
    from scipy import sparse

    graph = sparse.coo_array((np.ones(len(left), np.int8), (left, right)), shape=(size, size))
    return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)
