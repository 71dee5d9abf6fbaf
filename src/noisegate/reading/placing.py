"""Tables at their places in a domain that somebody states: a card beside them, or the spec that they were made by.

What tables reveal of their domain is less than what a card states: a bin in which nobody was ever shown, a stop that was
always suppressed. Where a domain is stated it is believed, as long as every published row has a cell in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.reading.published import PublishedTable
from noisegate.reading.values import find_form, find_unknown
from noisegate.tables import NO_ORDINAL, Dimension, Domain, Ints, Margin, folded, locate


class MisplacedError(SpecError):
    """A table does not fit into the domain that is stated."""


def describe(domain: Domain, /) -> Domain:
    """The same cells, with what the labels of each dimension mean: dates, times of day, numbers, unknown.

    Examples
    --------
    >>> stated = Domain.product([Dimension(name="time", values=("06:00", "06:15"))])
    >>> describe(stated).dimensions[0].step
    15
    """
    return replace(domain, dimensions=tuple(map(_described, domain.dimensions)))


def _described(dimension: Dimension) -> Dimension:
    unknown = find_unknown(dimension.labels)
    form = find_form(dimension.name, dimension.labels, unknown=unknown)
    if len(set(form.keys)) != len(form.keys):
        return dimension
    return replace(
        dimension,
        kind=form.kind,
        written=form.written,
        keys=form.keys,
        ordinals=np.array([NO_ORDINAL if one is None else one for one in form.ordinals], dtype=np.int64),
        unknown=np.array(unknown, dtype=bool),
        step=form.step,
    )


def place_rows(dimensions: Sequence[Dimension], codes: NDArray[np.integer], domain: Domain, /) -> Ints:
    """The cell of each row of a table in a domain over the same dimensions; -1 where the domain has none.

    Dimensions are the same by name, labels by their keys or as written, whatever case and blanks they have.

    Raises
    ------
    MisplacedError
        If the table has other dimensions than the domain.
    """
    columns = codes_in(domain, dimensions, codes)
    if len(columns) != len(domain.dimensions):
        raise MisplacedError(
            f"it is stated over {', '.join(domain.names)}, the table has {', '.join(d.name for d in dimensions)}"
        )
    shape = (len(columns), codes.shape[1])
    stacked = np.array([columns[place] for place in range(len(columns))], dtype=np.int64)
    return locate(domain, stacked.reshape(shape))


def codes_in(
    domain: Domain, dimensions: Sequence[Dimension], codes: NDArray[np.integer], /
) -> dict[int, Ints]:
    """The label codes of rows in a domain, by the position of the dimension there; -1 for labels that it does not list.

    Raises
    ------
    MisplacedError
        If the domain does not have a dimension.
    """
    places = {folded(name): place for place, name in enumerate(domain.names)}
    found = {}
    for dimension, row in zip(dimensions, codes, strict=True):
        if folded(dimension.name) not in places:
            raise MisplacedError(f"it does not list {dimension.name}")
        place = places[folded(dimension.name)]
        found[place] = _recode(dimension, domain.dimensions[place])[row]
    return found


def shown_in(domain: Domain, table: PublishedTable, /) -> dict[int, Ints]:
    """The label codes in a domain of all cells that a table names, with or without a count, as far as it lists them."""
    named = np.concatenate([table.codes, table.hidden], axis=1)
    found = codes_in(domain, table.dimensions, named)
    listed = np.logical_and.reduce(
        [np.ones(named.shape[1], dtype=bool), *(row >= 0 for row in found.values())]
    )
    return {place: row[listed] for place, row in found.items()}


def _recode(read: Dimension, stated: Dimension) -> Ints:
    """For each label code as it was read the code in the stated dimension; -1 for none."""
    known = {folded(text): code for texts in (stated.keys, stated.labels) for code, text in enumerate(texts)}
    pairs = zip(read.keys, read.labels, strict=True)
    return np.array([known.get(folded(key), known.get(folded(label), -1)) for key, label in pairs])


def margins_in(domain: Domain, tables: Sequence[PublishedTable], /) -> list[Margin]:
    """The margin of each table over the dimensions that it has, in their order."""
    names = {folded(name): name for name in domain.names}
    found = []
    for table in tables:
        kept = [names.get(folded(name)) for name in table.names]
        strange = [own for own, name in zip(table.names, kept, strict=True) if name is None]
        if strange or not kept:
            raise MisplacedError(f"it does not list {', '.join(strange) or 'a total'} of {table.name}")
        found.append(Margin.over(domain, [name for name in kept if name is not None]))
    return found


def check_places(table: PublishedTable, cells: Ints, /) -> None:
    """Refuse a domain that lacks a cell which a table publishes."""
    lost = np.flatnonzero(cells < 0)
    if lost.size:
        first = table.codes[:, lost[0]].tolist()
        shown = ", ".join(
            f"{dimension.name}={dimension.labels[code]}"
            for dimension, code in zip(table.dimensions, first, strict=True)
        )
        raise MisplacedError(f"{table.name} shows {shown}, which it does not list")
