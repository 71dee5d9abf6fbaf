"""Totals and subtotals among the values of a dimension.

A value is taken for a total if its wording says so (Total, All ages, a country beside its parts, an age band over narrower
ones, or the overrides) *and* its counts agree: they are the sums of its parts where all of those are published, and no less than
them elsewhere. A value that no word calls a total (a code, a language that is not known here, a blank) is one only if it is the
sum of all others in many rows, which does not happen by chance.

Subtotals cover some of the values. Which ones is told by their ages, or by where they stand: a subtotal follows its parts, or goes
before them, or sums all that stands above it. Where a total is too large for the other values, subtotals that no word names are looked for: each the exact
sum of what follows it, or goes before it, and the total the exact sum of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.reading.dimensions import merged_values
from noisegate.reading.overrides import TableOverride
from noisegate.reading.published import PublishedTable, row_ids
from noisegate.reading.values import common_step
from noisegate.reading.words import age_band, is_country, is_total
from noisegate.tables import Dimension, Kind, compact, folded

#: How far a total may be from the sum of its parts: a share of it, and noise on every part.
RELATIVE, NOISE = 0.1, 5.0
#: The same for a subtotal, whose parts are told by where it stands: some of all candidates are near a sum by chance.
_SUBTOTAL_RELATIVE = 0.002
#: Cells of the grid of groups by values that sums are looked up in.
_MOST_GRID = 50_000_000


Grid = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What is summed in one dimension.

    Attributes
    ----------
    dimension
        Its position.
    total
        The code of the value that is the total of all others; None if there is none.
    levels
        Subtotals with the codes that each sums; those of one level have no code in common.
    untold
        Codes that are worded like totals and are none of these, beside a total that sums all other values.
    notes
        What was decided, in words.
    """

    dimension: int
    total: int | None = None
    untold: tuple[int, ...] = ()
    levels: tuple[dict[int, tuple[int, ...]], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sums(self) -> set[int]:
        """All codes that are sums of others."""
        return {code for level in self.levels for code in level} | (
            {self.total} if self.total is not None else set()
        )


def find_totals(
    table: PublishedTable, position: int, override: TableOverride, /, *, also: Collection[str] = ()
) -> Totals:
    """The total and the subtotals among the values of one dimension; `also` are words that mean a total in this table."""
    dimension = table.dimensions[position]
    told = _told(dimension, override)
    if told == _NONE:
        return Totals(dimension=position, notes=(f"no value of {dimension.name} is a total, as told",))
    if told is not None:
        note = f"{dimension.labels[told]!r} of {dimension.name} is the total of its other values"
        return Totals(dimension=position, total=told, notes=(note,))
    worded = _worded(dimension)
    worded += [
        code for code, label in enumerate(dimension.labels) if code not in worded and folded(label) in also
    ]
    bands = _bands(dimension, worded)
    if not worded and not bands:
        return _unworded(table, position)
    if len(worded) == 1 and not bands:
        return _one_total(table, position, worded[0])
    found = _several(table, position, worded, bands)
    plain = [code for code in worded if not is_country(dimension.labels[code])]
    if found.total is None and not found.levels and len(plain) == 1 and not bands:
        return _one_total(table, position, plain[0])  # the EU among origins is no sum of the others
    return found


#: Somebody says that a dimension has no total.
_NONE = -1
#: Rows in which all values are published before a sum that no word calls a total is believed, and of how many different sizes.
_ENOUGH_ROWS, _SIZES = 5, 3
#: How much larger than the noise that is allowed for such sums must be, where they are not exact.
_CLEAR = 20.0


def _unworded(table: PublishedTable, position: int) -> Totals:
    """The value that is the sum of all others wherever all are published, though no word says so."""
    dimension = table.dimensions[position]
    if dimension.size < 3 or dimension.kind in {Kind.DATE, Kind.TIME}:
        return Totals(dimension=position)
    grid = _grid(table, position)
    full = np.zeros((0, dimension.size)) if grid is None else grid[np.isfinite(grid).all(axis=1)]
    full = full[full.sum(axis=1) > 0]
    if grid is None or not full.size:
        return Totals(dimension=position)
    gaps = np.abs(2 * full - full.sum(axis=1, keepdims=True))
    noise = NOISE * np.sqrt(dimension.size)
    for code in np.flatnonzero((gaps <= noise).mean(axis=0) >= 0.9).tolist():
        others = [one for one in range(dimension.size) if one != code]
        blank = not dimension.labels[code]
        exact = bool((gaps[:, code] == 0).all())
        sizes = np.unique(full[:, code]).size
        if exact:
            enough = blank or (len(full) >= _ENOUGH_ROWS and sizes >= _SIZES)
        else:
            enough = len(full) >= 2 * _ENOUGH_ROWS and float(np.median(full[:, code])) > _CLEAR * noise
        if enough and _no_less(grid, code, others):
            called = repr(dimension.labels[code]) if not blank else "a blank"
            how = "exactly" if exact else "within noise"
            note = f"{called} of {dimension.name} is the total of its other values: it is their sum, {how}, wherever all are published"
            return Totals(dimension=position, total=code, notes=(note,))
    return _all_in_blocks(table, position, full)


def _all_in_blocks(table: PublishedTable, position: int, full: Grid) -> Totals:
    """Subtotals that no word names and that cover every value, each the exact sum of those beside it; several rows and several of them are no chance."""
    dimension, order = table.dimensions[position], _order(table, position)
    several = bool((full != full[:1]).any())
    for backwards in (False, True) if several else ():
        blocks = _blocks(full, order[::-1] if backwards else order)
        leaves = [code for code in order if code not in blocks]
        if len(blocks) > 1 and set(leaves) == {code for members in blocks.values() for code in members}:
            return _levelled(position, dimension, blocks, leaves)
    return Totals(dimension=position)


def _no_less(grid: Grid, code: int, others: Sequence[int]) -> bool:
    """Whether a value is no less than the sum of those others that are published."""
    parts = grid[:, np.array(others, dtype=np.int64)]
    both = np.isfinite(grid[:, code]) & np.isfinite(parts).any(axis=1)
    sums = np.where(np.isfinite(parts), parts, 0.0).sum(axis=1)
    short = grid[both, code] < sums[both] - NOISE * np.sqrt(len(others) + 1.0)
    return bool(short.mean() <= 0.05)


def _told(dimension: Dimension, override: TableOverride) -> int | None:
    """The value that a person calls the total."""
    told = next(
        (d.total for name, d in override.dimensions.items() if d.total and dimension.name in {name, d.name}),
        None,
    )
    keys = [folded(label) for label in dimension.labels]
    if told is not None and folded(told) == "none" and "none" not in keys:
        return _NONE
    return keys.index(folded(told)) if told is not None and folded(told) in keys else None


def _worded(dimension: Dimension) -> list[int]:
    """Values that are worded like totals; a country, if there is one and it is not alone with another."""
    if dimension.size < 2:
        return []
    worded = [code for code, label in enumerate(dimension.labels) if is_total(label, dimension.name)]
    countries = [code for code, label in enumerate(dimension.labels) if is_country(label)]
    outer = [code for code in countries if code not in worded]
    return sorted(worded + outer) if 1 <= len(outer) <= 3 and dimension.size >= len(outer) + 3 else worded


def _bands(dimension: Dimension, worded: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Age bands that narrower ones fill without a gap, with these."""
    ages = {code: age_band(label) for code, label in enumerate(dimension.labels) if code not in worded}
    known = {code: band for code, band in ages.items() if band is not None}
    if len(known) < 3 or len(known) < 0.7 * len(ages):
        return {}
    leaves = {
        code: band
        for code, band in known.items()
        if not any(other != band and band[0] <= other[0] and other[1] <= band[1] for other in known.values())
    }
    found = {}
    for code, (low, high) in known.items():
        if code in leaves:
            continue
        inside = sorted((band, one) for one, band in leaves.items() if low <= band[0] and band[1] <= high)
        edges = [low, *(band[1] + 1 for band, _ in inside)]
        if (
            inside
            and inside[-1][0][1] == high
            and all(band[0] == edge for (band, _), edge in zip(inside, edges, strict=False))
        ):
            found[code] = tuple(one for _, one in inside)
    return found


def _one_total(table: PublishedTable, position: int, code: int) -> Totals:
    dimension = table.dimensions[position]
    label = dimension.labels[code]
    if _adds_up(table, position, code):
        note = f"{label!r} of {dimension.name} is the total of its other values"
        return Totals(dimension=position, total=code, notes=(note,))
    if (found := _with_unnamed(table, position, code)) is not None:
        return found
    if is_country(label):
        return Totals(dimension=position)
    if (table.hidden[position] == code).any() and not (table.codes[position] == code).any():
        note = f"{label!r} of {dimension.name} is taken for the total of its other values by its name: all its counts are hidden"
        return Totals(dimension=position, total=code, notes=(note,))
    note = f"{label!r} of {dimension.name} does not add up; it was kept as a value like any other"
    return Totals(dimension=position, notes=(note,))


def _with_unnamed(table: PublishedTable, position: int, total: int) -> Totals | None:
    """The total with the subtotals that no word names and that make up what the other values are too large by; None if there are none."""
    dimension, grid = table.dimensions[position], _grid(table, position)
    if grid is None:
        return None
    full = grid[np.isfinite(grid).all(axis=1)]
    full = full[full[:, total] > 0]
    order = [code for code in _order(table, position) if code != total]
    if not full.size or len(order) < _FEWEST_UNNAMED:
        return None
    for backwards in (False, True):
        blocks = _blocks(full, order[::-1] if backwards else order)
        leaves = [code for code in order if code not in blocks]
        if blocks and (full[:, leaves].sum(axis=1) == full[:, total]).all():
            return _levelled(position, dimension, {total: tuple(sorted(leaves)), **blocks}, leaves)
    return None


#: Two parts and two subtotals at least beside a total.
_FEWEST_UNNAMED = 4


def _blocks(full: Grid, order: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Values that are, in every row, the exact sum of those that follow, and of subtotals of such, with the values that are no sums."""
    found: dict[int, tuple[int, ...]] = {}
    rest = list(order)
    while new := _blocks_of(full, rest):
        for code, members in new.items():
            found[code] = tuple(sorted(leaf for one in members for leaf in found.get(one, (one,))))
        inside = {code for members in new.values() for code in members}
        rest = [code for code in rest if code not in inside]
    return found


def _blocks_of(full: Grid, order: Sequence[int]) -> dict[int, list[int]]:
    """Values that are the exact sum of those that follow, each of as few as there can be, two at least."""
    found: dict[int, list[int]] = {}
    place = 0
    while place < len(order) - 2:
        target = full[:, order[place]]
        summed = full[:, order[place + 1]].copy()
        end = place + 2
        while end < len(order) and (summed <= target).all():
            summed += full[:, order[end]]
            end += 1
            if (summed == target).all() and target.any():
                found[order[place]] = list(order[place + 1 : end])
                place = end - 1
                break
        place += 1
    return found


def _adds_up(table: PublishedTable, position: int, code: int) -> bool:
    """Whether the counts with this value are sums of those with the others."""
    others = [i for i in range(len(table.dimensions)) if i != position]
    sizes = tuple(table.dimensions[i].size for i in others)
    group = compact(row_ids(table.codes[others], sizes))[1]
    groups = int(group.max(initial=-1)) + 1
    is_sum = table.codes[position] == code
    counts = table.counts.astype(np.float64)
    total = np.full(groups, np.nan)
    total[group[is_sum]] = counts[is_sum]
    parts = np.bincount(group[~is_sum], weights=counts[~is_sum], minlength=groups)
    shown = np.bincount(group[~is_sum], minlength=groups)
    members = np.unique(table.codes[position][~is_sum]).size
    both = np.isfinite(total) & (shown > 0)
    complete = both & (shown == members)
    noise = NOISE * np.sqrt(members + 1.0)
    if complete.any():
        gap = np.abs(total[complete] - parts[complete])
        # Rounding that always goes up or down moves each count by half of its base.
        moved = common_step(counts) / 2 * (members + 1.0) if common_step(counts) > 1 else 0.0
        return bool(gap.sum() <= RELATIVE * np.abs(total[complete]).sum() + max(noise, moved) * gap.size)
    short = total[both] < parts[both] * (1 - RELATIVE) - noise
    return bool(both.any() and short.mean() <= 0.05)


def _grid(table: PublishedTable, position: int) -> Grid | None:
    """The counts by group of the other dimensions and value of this one; NaN where nothing is published."""
    others = [i for i in range(len(table.dimensions)) if i != position]
    sizes = tuple(table.dimensions[i].size for i in others)
    group = compact(row_ids(table.codes[others], sizes))[1]
    shape = (int(group.max(initial=-1)) + 1, table.dimensions[position].size)
    if shape[0] * shape[1] > _MOST_GRID:
        return None
    grid = np.full(shape, np.nan)
    grid[group, table.codes[position]] = table.counts
    return grid


def _several(
    table: PublishedTable, position: int, worded: Sequence[int], bands: dict[int, tuple[int, ...]]
) -> Totals:
    """Totals and subtotals, each with the values that it sums; those that do not add up stay values."""
    dimension, grid = table.dimensions[position], _grid(table, position)
    if grid is None:
        return Totals(dimension=position)
    leaves = [code for code in _order(table, position) if code not in worded and code not in bands]
    order = [code for code in _order(table, position) if code not in bands]
    found: dict[int, tuple[int, ...]] = {}
    odd: list[int] = []
    for code, members in bands.items():
        if _near(grid, code, members, _SUBTOTAL_RELATIVE) is not None:
            found[code] = members
        else:
            leaves.append(code)
    for code in (one for one in order if one in worded):
        sets = dict.fromkeys(_candidates(order, code, worded, leaves))
        tried = [
            (gap, members)
            for members in sets
            if (gap := _near(grid, code, members, _SUBTOTAL_RELATIVE)) is not None
        ]
        if tried:
            found[code] = min(tried, key=lambda one: (one[0], -len(one[1])))[1]
        elif _never_less(grid, code, leaves):
            found[code] = tuple(sorted(leaves))
        else:
            odd.append(code)
    known = _levelled(position, dimension, found, leaves)
    if known.total is not None:
        return replace(
            known, untold=tuple(code for code in odd if is_total(dimension.labels[code], dimension.name))
        )
    labels = [dimension.labels[code] for code in odd if not is_country(dimension.labels[code])]
    kept = [
        f"{one!r} of {dimension.name} does not add up; it was kept as a value like any other"
        for one in labels
    ]
    return replace(known, notes=(*known.notes, *kept))


def _order(table: PublishedTable, position: int) -> list[int]:
    """The values in the order in which the file has them."""
    codes, first = np.unique(
        np.concatenate([table.codes[position], table.hidden[position]]), return_index=True
    )
    return [int(code) for _, code in sorted(zip(first.tolist(), codes.tolist(), strict=True))]


def _candidates(
    order: list[int], code: int, worded: Sequence[int], leaves: list[int]
) -> Iterator[tuple[int, ...]]:
    """The sets of values that a total may sum, by where it stands."""
    place = order.index(code)
    plain = set(leaves)
    above = [one for one in order[:place] if one in plain]
    block = []
    for one in reversed(order[:place]):
        if one in worded:
            break
        block.append(one)
    below = []
    for one in order[place + 1 :]:
        if one in worded:
            break
        below.append(one)
    for members in (leaves, above, block[::-1], below, [one for one in leaves if one not in above]):
        chosen = tuple(sorted(one for one in members if one in plain))
        if len(chosen) > 1 or (len(chosen) == 1 and len(leaves) > 2):
            yield chosen


def _near(grid: Grid, code: int, members: Sequence[int], relative: float) -> float | None:
    """How far a value is from the sum of others on average, where all are published; None if too far, or if nothing tells."""
    parts = grid[:, np.array(members, dtype=np.int64)]
    full = np.isfinite(grid[:, code]) & np.isfinite(parts).all(axis=1)
    if not full.any():
        return None
    gap = np.abs(grid[full, code] - parts[full].sum(axis=1))
    noise = NOISE * np.sqrt(len(members) + 1.0)
    # Noise does not grow with the total; a part that is missing does.
    near = gap <= noise + relative * np.abs(grid[full, code])
    return float(gap.mean()) if near.mean() >= 0.9 else None


def _never_less(grid: Grid, code: int, leaves: Sequence[int]) -> bool:
    """Whether a value is no less than the sum of all others that are published, where these are never all published."""
    parts = grid[:, np.array(leaves, dtype=np.int64)]
    shown = np.isfinite(parts)
    both = np.isfinite(grid[:, code]) & shown.any(axis=1)
    if not both.any() or (both & shown.all(axis=1)).any():
        return False
    sums = np.where(shown, parts, 0.0).sum(axis=1)
    short = grid[both, code] < sums[both] * (1 - RELATIVE) - NOISE * np.sqrt(len(leaves) + 1.0)
    return bool(short.mean() <= 0.05)


def _levelled(
    position: int, dimension: Dimension, found: dict[int, tuple[int, ...]], leaves: list[int]
) -> Totals:
    whole = [code for code, members in found.items() if set(members) == set(leaves)]
    total = whole[-1] if whole else None
    levels: list[dict[int, tuple[int, ...]]] = []
    rest = sorted((code for code in found if code != total), key=lambda code: len(found[code]))
    for code in rest:
        home = next(
            (one for one in levels if not set(found[code]) & {m for own in one.values() for m in own}), None
        )
        if home is None:
            levels.append({code: found[code]})
        else:
            home[code] = found[code]
    said = []
    if total is not None:
        said.append(f"{dimension.labels[total]!r} of {dimension.name} is the total of its other values")
    for level in levels:
        shown = ", ".join(repr(dimension.labels[code]) for code in list(level)[:3]) + (
            ", ..." if len(level) > 3 else ""
        )
        one = len(level) == 1
        said.append(
            f"{shown} of {dimension.name} {'is a subtotal' if one else 'are subtotals'} of its other values"
        )
    return Totals(dimension=position, total=total, levels=tuple(levels), notes=tuple(said))


_TOTAL = re.compile(r"\b(?:sub-?|grand )?totals?\b[,:]?", re.IGNORECASE)
_BARE = re.compile(r"\b(?:sub-?|grand )?totals?\b[,:]?|\ball\b|\bboth\b", re.IGNORECASE)


def _core(label: str) -> str:
    """A label without its words for "total"."""
    return folded(_BARE.sub(" ", label).strip(" ,:"))


def spell_totals(table: PublishedTable, /) -> PublishedTable:
    """The table with totals that name what they are totals of spelled as plain ones.

    "Alabama Total" beside "All sexes" is Alabama; "Male, all ages" in a row of "Male" is all ages; "Total people, Auckland Central"
    in a row of Auckland Central is all people.
    """
    for position in range(len(table.dimensions)):
        renamed = _plain_totals(table, position)
        if renamed:
            spelled = merged_values(table, position, renamed)
            table = table if spelled is None else spelled
    return table


def _plain_totals(table: PublishedTable, position: int) -> dict[int, str]:
    dimension = table.dimensions[position]
    every = np.concatenate([table.codes, table.hidden], axis=1)
    known = {folded(label): label for label in dimension.labels}
    wordy = [
        code for code, label in enumerate(dimension.labels) if is_total(label, dimension.name) or "," in label
    ]
    found: dict[int, str] = {}
    for code in wordy:
        label = dimension.labels[code]
        rows = every[:, every[position] == code]
        beside = {
            _core(other.labels[k]): other.labels[k]
            for i, other in enumerate(table.dimensions)
            if i != position
            for k in np.unique(rows[i]).tolist()
        }
        bare = folded(_TOTAL.sub(" ", label).strip(" ,:"))
        core = bare if bare in known else _core(label)
        others_total = any(
            all(
                is_total(other.labels[k], other.name) or "," in other.labels[k]
                for k in np.unique(rows[i]).tolist()
            )
            for i, other in enumerate(table.dimensions)
            if i != position and rows.shape[1]
        )
        if is_total(label) and core in known and known[core] != label and others_total:
            found[code] = known[core]
            continue
        parts = [part.strip() for part in label.split(",")]
        total = [part for part in parts if is_total(part, dimension.name)]
        rest = [part for part in parts if part not in total[:1]]
        if total and rest and all(_core(part) in beside for part in rest):
            found[code] = known.get(folded(total[0]), total[0])
    return found
