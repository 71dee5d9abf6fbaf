"""The custodian's jobs: look at a spec, see what it would cost, check the events, release.

Events may be files that the spec names, a table of an engine, or a frame in memory (pandas, Polars, Arrow). The spec says whose
budget is spent (`population`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisegate.engine import connect, own_connection
from noisegate.errors import DataError, SpecError
from noisegate.laws import Entropy
from noisegate.releases import EventCheck, check_events
from noisegate.releases import release as make_release
from noisegate.spec import ReleaseSpec, load_spec, parse_spec

if TYPE_CHECKING:
    from noisegate.query import OpenRelease
    from noisegate.workload import Outlook, Wants

AnyPath = str | os.PathLike[str]
AnySpec = AnyPath | Mapping[str, Any] | ReleaseSpec
Progress = Callable[[str], None]

#: What a frame is called where a spec names the source of its events.
FRAME = "events"


def read_spec(spec: AnySpec, /, *, folder: AnyPath | None = None, framed: bool = False) -> ReleaseSpec:
    """The release spec in a YAML file, a dictionary, or one that was read before.

    Parameters
    ----------
    spec
        A path, or what a spec file would hold as a dictionary.
    folder
        Where relative paths of a dictionary start; the current folder by default.
    framed
        The events come as a frame, so that the spec need not say where they are.

    Raises
    ------
    SpecError
        One sentence that names the key, what was found and what is allowed.
    """
    if isinstance(spec, ReleaseSpec):
        return spec
    if not isinstance(spec, Mapping):
        return load_spec(spec)
    events = dict(spec.get("events") or {})
    if framed:
        events["source"] = FRAME
    return parse_spec({**spec, "events": {"source": FRAME, **events}}, folder=Path(folder or "."))


def plan(
    spec: AnySpec,
    /,
    *,
    want: float | Wants | None = None,
    like: AnyPath | None = None,
    progress: Any = None,
) -> Outlook:
    """What noise will do to each question of the spec's workload, for a range of epsilons.

    Reads no event and spends nothing.

    Parameters
    ----------
    want
        Questions with the errors that 19 answers in 20 must stay within, such as "by mode: 5%, by location: 50", as text or
        as a mapping: what they need is in `needed` of the result. Or a number: the mean absolute error to find an epsilon
        for, where a question of the workload states none.
    like
        The folder of an earlier release, or of a simulated one, whose published counts stand in for the truth.
    progress
        Called with what is done and what there is to do.

    Examples
    --------
    >>> import noisegate
    >>> spec = {
    ...     "name": "day", "events": {"person": "card"}, "budget": {"dataset": "example"},
    ...     "dimensions": {"line": {"column": "line", "values": ["A", "B"]}},
    ...     "tables": {"lines": ["line"]},
    ...     "privacy": {"unit": "person", "max_cells": 2, "epsilon": 1},
    ... }
    >>> noisegate.plan(spec, want={"by line": 10}).needed.epsilon
    0.57
    """
    from noisegate.workload import outlook

    read = read_spec(spec)
    report = progress or (lambda _done, _all: None)
    number = float(want) if isinstance(want, int | float) else None
    wants = None if isinstance(want, int | float) else want
    return outlook(read, wanted=number, want=wants, like=None if like is None else Path(like), report=report)


def check(
    spec: AnySpec,
    /,
    *,
    events: Any = None,
    engine: str | None = None,
    entropy: Entropy | None = None,
    week: int | None = None,
) -> EventCheck:
    """Count the events of a spec as a release would, and tell what became of them; spends nothing.

    Parameters
    ----------
    events
        A frame (pandas, Polars, Arrow) in place of the source that the spec names.
    engine
        Where the source is a table: `spark`, or a URL that Ibis understands.
    week
        Which week of the series to count, where the spec has one.
    """
    read = read_spec(spec, framed=events is not None)
    with _connection(read, events, engine) as connection:
        return check_events(read, engine=connection, entropy=entropy, week=week)


def release(
    spec: AnySpec,
    /,
    *,
    out: AnyPath,
    events: Any = None,
    engine: str | None = None,
    ledger: AnyPath | None = None,
    entropy: Entropy | None = None,
    progress: Progress | None = None,
    warn: Progress | None = None,
    by: Sequence[str] = (),
    yes: bool = False,
    week: int | None = None,
) -> OpenRelease:
    """Make the release that a spec describes in a new folder, charge the ledger, and open it for questions.

    Parameters
    ----------
    spec
        A path to a YAML file, or what it would hold as a dictionary.
    out
        The folder to make; it must not exist.
    events
        A frame (pandas, Polars, Arrow) in place of the source that the spec names.
    engine
        Where the source is a table: `spark`, or a URL that Ibis understands.
    ledger
        The file or URL of the ledger; that of your state folder by default.
    entropy
        Where noise comes from; the operating system by default. A seeded source marks the release as simulated.
    progress, warn
        Called with what is being done; with what looks wrong before anything is spent.
    by
        Who approves the release: one person, or two. It is kept in the ledger.
    yes
        Do not guard against mistakes by a look at the raw events: whether the release succeeds is then a function of the spec alone.
    week
        Which week of the series to release, where the spec has one.

    Notes
    -----
    Guarantee: what the card says that it writes. The ledger is charged before any noise is drawn, and what was reserved
    stays spent.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import noisegate
    >>> taps = {"card": ["a", "b", "c"], "line": ["A", "A", "B"]}
    >>> spec = {
    ...     "name": "day", "population": "example", "events": {"person": "card"},
    ...     "dimensions": {"line": {"column": "line", "values": ["A", "B"]}},
    ...     "tables": {"lines": ["line"]},
    ...     "privacy": {"unit": "person", "max_cells": 2, "epsilon": 2, "law": "discrete-laplace"},
    ... }
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> import pyarrow
    >>> made = noisegate.release(spec, events=pyarrow.table(taps), out=place / "day", ledger=place / "ledger.db")
    >>> made.name
    'day'
    """
    read = read_spec(spec, framed=events is not None)
    silent: Progress = lambda _: None  # noqa: E731 - says nothing, twice
    with _connection(read, events, None if events is None else engine) as connection:
        result = make_release(
            read,
            out=Path(out),
            engine=connection if events is not None or engine == "duckdb" else engine,
            ledger=None if ledger is None else str(ledger),
            entropy=entropy,
            report=progress or silent,
            warn=warn or silent,
            by=by,
            yes=yes,
            week=week,
        )
    # Who only makes releases does not load what takes them apart.
    from noisegate.query import open_release

    return open_release(result.folder)


@contextmanager
def _connection(spec: ReleaseSpec, events: Any, engine: str | None, /) -> Iterator[Any]:
    """Where the engine finds the events: None if the spec names files."""
    if events is None:
        yield connect(engine) if engine not in (None, "duckdb") else None
        return
    if engine is not None:
        raise SpecError("events come as a frame, which is counted here; leave out engine.")
    import duckdb

    with own_connection() as connection:
        try:
            connection.register(spec.events.source, events)
        except (duckdb.Error, TypeError, ValueError):
            raise DataError(
                f"events are a {type(events).__name__}, which is no frame; give one of pandas, Polars or Arrow."
            ) from None
        yield connection
