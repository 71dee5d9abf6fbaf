"""The analyst's job where there is no card: questions to tables of any maker, through what can be recovered of how they were made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisegate.api.assessing import AnyDecisions, infer
from noisegate.assessment import Inference
from noisegate.errors import DataError
from noisegate.inference import Engine
from noisegate.query import Askable
from noisegate.reading import TableSources
from noisegate.tables import Table


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenTables(Askable):
    """Tables of any maker that answer questions. What had to be assumed about their making is in `assumes`.

    Attributes
    ----------
    inference
        What is known about every cell of the base.
    """

    inference: Inference

    @property
    def name(self) -> str:
        """What the base is called."""
        return self.inference.cells.name

    @property
    def tables(self) -> tuple[Table, ...]:
        """The base, on the domain that the tables reveal."""
        return (self.inference.cells,)

    @property
    def posterior(self) -> Engine:
        """What is known of every cell of the base."""
        return self.inference.engine

    @property
    def assumes(self) -> tuple[str, ...]:
        """What had to be assumed about the making of the tables."""
        return self.inference.evidence.assumes

    def __repr__(self) -> str:
        return f"{self.inference!r}\n  ask with .answer(where=..., by=...)"


def open_tables(
    tables: TableSources,
    /,
    *,
    decisions: AnyDecisions | None = None,
    noise: str | None = None,
    progress: Callable[[str], None] | None = None,
    **said: Any,
) -> OpenTables:
    """Published tables without a card, ready for questions: how they were made is recovered from the tables.

    Parameters
    ----------
    tables
        Files or frames, as `assess` takes them; `said` is what else it takes (pairs, identities, timetables).
    decisions
        What is decided about the tables already: a YAML file, or what it would hold as a dictionary.
    noise
        The noise of tables from which none can be recovered, as LAW:SCALE ("laplace:1.4").
    progress
        Called with what is being done.

    Raises
    ------
    DataError
        If nothing is known about the noise, or the tables contradict each other.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> towns = pyarrow.table({"town": ["A", "B", "C"], "count": [40, 70, 90]})
    >>> noisegate.open_tables({"towns": towns}, noise="laplace:1.4").answer(where="town=A|B").high[0] < 125
    True
    """
    found = infer(tables, decisions=decisions, noise=noise, progress=progress, **said)
    if found.evidence.released:
        raise DataError(
            "these tables lie beside the card that describes them; ask their directory (open_release)."
        )
    return OpenTables(inference=found)
