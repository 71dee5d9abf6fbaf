"""The assessor's jobs: read published tables, recover how they were made, infer what they hide, assess them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from noisegate.assessment import (
    LATE_MIN,
    Assessment,
    Attacker,
    Facts,
    Inference,
    Slivers,
    compare_pair,
    exhibits_of,
    find_facts,
)
from noisegate.assessment import assess as judge_tables
from noisegate.errors import DataError, OutputError, SpecError
from noisegate.inference import TableSets
from noisegate.mechanisms import stated_noise
from noisegate.places import check_directory
from noisegate.reading import (
    Overrides,
    Structure,
    TableSources,
    load_overrides,
    parse_overrides,
    read_structure,
)
from noisegate.recovery import Noise
from noisegate.report import write_assessment

AnyPath = str | os.PathLike[str]
AnyDecisions = AnyPath | dict[str, Any] | Overrides
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OpenAssessment(Assessment):
    """An assessment that can be looked at, drawn and written.

    `findings` and `checks` are what was found; `cells` what is known about every cell of the base.
    """

    @classmethod
    def of(cls, assessment: Assessment, /) -> OpenAssessment:
        """The same assessment, opened."""
        return cls(**{field.name: getattr(assessment, field.name) for field in fields(assessment)})

    @property
    def cells(self) -> Any:
        """Every cell of the base as an Arrow table: what was published, and what is known of it.

        Raises
        ------
        DataError
            If the cells were neither inferred nor bounded; the checks say why.
        """
        found = self.cells_table()
        if found is None:
            raise DataError("the cells were neither inferred nor bounded; .checks say why.")
        return found

    def to_arrow(self) -> Any:
        """The findings as an Arrow table: id, severity, title, advice."""
        import pyarrow as pa

        names = ("id", "severity", "title", "advice")
        return pa.table({name: [getattr(one, name) for one in self.findings] for name in names})

    def to_pandas(self) -> Any:
        """The findings as a pandas frame; `.cells.to_pandas()` has the cells."""
        return self.to_arrow().to_pandas()

    @property
    def plots(self) -> tuple[str, ...]:
        """The names of the pictures that `plot` draws."""
        return tuple(figure.key for one in exhibits_of(self) for figure in one.figures)

    def plot(self, name: str | None = None, /) -> Any:
        """A picture of the assessment as an Altair chart: the first one, or the one of this name (see `plots`)."""
        from noisegate.pictures import draw

        pictures = {figure.key: figure.picture for one in exhibits_of(self) for figure in one.figures}
        if not pictures:
            raise DataError("this assessment has nothing to draw.")
        if name is not None and name not in pictures:
            raise SpecError.for_choice("a picture", found=name, allowed=tuple(pictures))
        return draw(pictures[name or next(iter(pictures))])

    def report(self, path: AnyPath, /, *, judged: Mapping[str, str] | None = None, signed: str = "") -> Path:
        """Write the report as one page, HTML or Markdown by the ending of `path`; it must not exist.

        Parameters
        ----------
        judged
            What people make of findings, by the kind of each; from the second of a kind on with its number, as in `presence-2`.
        signed
            Who has gone through it, as a sentence.
        """
        from noisegate.report import live_of, page_of, render_html, render_markdown

        file = Path(path)
        if file.suffix not in (".html", ".md"):
            raise OutputError(f"a report ends in .html or .md, got {file.name!r}.")
        page = page_of(self, judged=judged, signed=signed)
        text = render_html(page, live=live_of(self)) if file.suffix == ".html" else render_markdown(page)
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            raise OutputError(f"{file} exists already; remove it, or choose another name.") from None
        except OSError as problem:
            raise OutputError(f"cannot write {file}: {problem.strerror or 'unknown reason'}.") from None
        return file

    def write(self, folder: AnyPath, /) -> Path:
        """Write everything to a new folder: `assessment.json`, `cells.parquet`, pictures and the report."""
        write_assessment(self, Path(folder))
        return Path(folder)


def assess(
    tables: TableSources,
    /,
    *,
    decisions: AnyDecisions | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    identities: Sequence[str] = (),
    lag: str | int | timedelta | None = None,
    summed_from: str | int | timedelta | None = None,
    card: AnyPath | None = None,
    noise: str | None = None,
    attacker: Attacker | None = "informed",
    truth: AnyPath | None = None,
    person: str | None = None,
    workload: AnyPath | None = None,
    gtfs: AnyPath | None = None,
    late: int = LATE_MIN,
    stops: AnyPath | None = None,
    k: int = 3,
    claims: Sequence[str] = (),
    weeks: int | None = None,
    against: Sequence[AnyPath] = (),
    areas: AnyPath | None = None,
    movement: bool = False,
    level: float = 0.95,
    title: str = "",
    out: AnyPath | None = None,
    progress: Progress | None = None,
) -> OpenAssessment:
    """What published tables give away.

    Parameters
    ----------
    tables
        One or more tables of the same events: CSV or Parquet files, the folder of a release, or frames (pandas,
        Polars, Arrow). A mapping names them.
    decisions
        What is decided about the tables already: a YAML file, or what it would hold as a dictionary.
    pairs, lag
        Two sets of cells that hold the same raw counts, each written "dimension=value,dimension=value", the
        second `lag` later ("30min").
    identities
        Values of one dimension that add up: "Male + Female = Total".
    summed_from
        The bins in which the base was published before somebody summed it ("15min"); found if it shows.
    card
        The card of the release; found when it lies beside the tables.
    noise
        The noise of the tables, as LAW:SCALE ("laplace:1.4") or "none", used whatever the tables tell; else it is recovered.
    attacker
        Who infers the suppressed cells: "informed" learns from the tables how counts vary by place, time and
        day, "minimal" knows only the levels of the totals that were published; None leaves cells alone.
    truth, person
        Raw events or counts, which only the custodian has, to score the attack against; and their column
        that says whose event it is.
    workload
        A release spec whose questions the tables are measured by, in place of those on the card. It also says which
        of the raw events count.
    gtfs, late, stops
        A timetable (GTFS, zip or folder), by how many minutes at most cards are read off it, and a map of
        published locations to its stops (CSV with the columns location and stop).
    k
        How many vehicles every cell should mix: merges that achieve it are suggested.
    claims
        Shares that are said to be dropped, such as "lightrail off dropped 0.0005%".
    weeks
        How many weeks of such releases to look ahead.
    against
        Other releases that may count the same people (files, or folders of releases): where two differ in a few, those are found.
    areas
        Where those releases are by other areas: a lookup of small areas (CSV), with a column named as the dimension of each table.
    movement
        Whether people are to be followed from place to place through counts of who is where at every time; how right that is needs `truth` and `person`.
    level
        Of all intervals.
    title
        What the report is called, in place of the base.
    out
        A folder to make for `assessment.json`, `cells.parquet`, pictures and the report.
    progress
        Called with what is being done.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> towns = pyarrow.table({"town": ["A", "B", "C"], "count": [4, 7, 9]})
    >>> found = noisegate.assess({"towns": towns}, noise="laplace:1.4")
    >>> found.cells.num_rows
    3
    """
    if out is not None:
        check_directory(Path(out))
    found = OpenAssessment.of(
        judge_tables(
            tables,
            overrides=_decided(decisions),
            pairs=pairs,
            identities=identities,
            lag=lag,
            summed_from=summed_from,
            card=card,
            noise=noise,
            attacker=attacker,
            truth=truth,
            person=person,
            workload=workload,
            gtfs=gtfs,
            late=late,
            stops=stops,
            k=k,
            claims=claims,
            weeks=weeks,
            against=against,
            areas=areas,
            movement=movement,
            level=level,
            title=title,
            progress=progress,
        )
    )
    if out is not None:
        found.write(out)
    return found


def read_tables(
    tables: TableSources, /, *, decisions: AnyDecisions | None = None, card: AnyPath | None = None
) -> Structure:
    """Published tables as they were read: which is the base, which are margins, what was set aside and why.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> read = noisegate.read_tables(pyarrow.table({"town": ["A", "B"], "count": [4, 7]}))
    >>> [dimension.name for dimension in read.base.dimensions]
    ['town']
    """
    return read_structure(tables, overrides=_decided(decisions), card=None if card is None else Path(card))


def find_slivers(
    first: TableSources,
    second: TableSources,
    /,
    *,
    noise: str | None = None,
    same: bool = False,
    areas: AnyPath | None = None,
    level: float = 0.95,
    decisions: AnyDecisions | None = None,
) -> Slivers:
    """What two releases give away together: the few people who are in one of them and not in the other.

    Parameters
    ----------
    first, second
        Two releases with the same dimensions: a table and its corrected version, two weeks, old and new borders or bands.
    noise
        The noise of both, as LAW:SCALE ("laplace:1.4"); None takes what their cards state, or what the differences show.
    same
        Whether it is known that both count the same people; else their counts must show it.
    areas
        Where the two are by other areas: a lookup of small areas (CSV), with a column named as the dimension of each table.
    level
        Of the intervals of slivers under noise.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> towns = [f"town {k}" for k in range(30)]
    >>> old = pyarrow.table({"town": towns, "count": list(range(40, 70))})
    >>> new = pyarrow.table({"town": towns, "count": [*range(40, 69), 70]})
    >>> noisegate.find_slivers({"old": old}, {"new": new})
    old and new: slivers
      town town 29: 1
    """
    decided = _decided(decisions)
    one, other = (read_structure(tables, overrides=decided) for tables in (first, second))
    law = None if noise is None else stated_noise(noise)
    small = None if areas is None else Path(areas)
    return compare_pair(one, one.base, other, other.base, noise=law, level=level, same=same, areas=small)


def find_table_sets(tables: TableSources, /, **said: Any) -> TableSets:
    """Which tables hurt together: the smallest sets that give hidden counts away, and the cheapest tables to leave out.

    Takes what `assess` takes.

    Raises
    ------
    DataError
        If the tables give no hidden count away, or carry noise.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> towns = [f"town {k}" for k in range(12) for _ in "MF"]
    >>> cells = pyarrow.table({"town": towns, "sex": list("MF") * 12, "count": ["x", *map(str, range(20, 43))]})
    >>> sums = pyarrow.table({"town": towns[::2], "count": [39 + 4 * k for k in range(12)]})
    >>> noisegate.find_table_sets({"cells": cells, "sums": sums}).drop_names
    ('sums',)
    """
    facts = find_decided(tables, said)
    if facts.table_sets is None:
        raise DataError("no two tables here give a hidden count away together, or their counts carry noise.")
    return facts.table_sets


def recover(tables: TableSources, /, **said: Any) -> dict[str, Noise]:
    """The noise of each table, as far as the tables give it away; takes what `assess` takes.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> noisegate.recover({"towns": pyarrow.table({"town": ["A", "B"], "count": [4, 7]})})["towns"].fit is None
    True
    """
    return find_decided(tables, said).noise


def infer(tables: TableSources, /, **said: Any) -> Inference:
    """What is known about every cell of the base, and about sums of cells; takes what `assess` takes.

    Raises
    ------
    DataError
        If nothing is known about the noise, or the tables contradict each other.
    """
    facts = find_decided(tables, said)
    if facts.inference is None:
        raise DataError(f"suppressed cells are {facts.why_not_inferred}.")
    return facts.inference


def find_decided(tables: TableSources, said: dict[str, Any], /) -> Facts:
    """What published tables tell, with what is decided about them in any form."""
    return find_facts(tables, overrides=_decided(said.pop("decisions", None)), **said)


def _decided(decisions: AnyDecisions | None, /) -> Overrides | None:
    if decisions is None or isinstance(decisions, Overrides):
        return decisions
    return parse_overrides(decisions) if isinstance(decisions, dict) else load_overrides(Path(decisions))
