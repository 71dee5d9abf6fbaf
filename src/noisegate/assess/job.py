"""The assessment job: read published tables, find their structure, recover the noise, state findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

from noisegate.assess.assessment import AssessedTable, Assessment
from noisegate.assess.card import Card, read_card
from noisegate.assess.cells_file import write_cells
from noisegate.assess.claims import Claim
from noisegate.assess.couplings import Coupling, couple
from noisegate.assess.files import (
    check_output,
    staged,
    write_assessment,
    write_pictures,
    write_weeks_picture,
)
from noisegate.assess.finding import Check, Finding, Result
from noisegate.assess.findings import (
    about_card,
    about_cells,
    about_couplings,
    about_loss,
    about_margins,
    about_no_inference,
    about_noise,
    about_score,
    about_thresholds,
    about_zeros,
)
from noisegate.assess.identities import IdentitySet, margin_set, pair_set, stated_sets
from noisegate.assess.inference import Attacker, Evidence, Inference, consistent_tables, infer_cells
from noisegate.assess.loss import Privacy, privacy_of
from noisegate.assess.margins import MarginRows, perturbed_apart
from noisegate.assess.mechanisms import Makers, StatedNoise
from noisegate.assess.moments import Moments
from noisegate.assess.outside import Linked, Look, Outside, Sections
from noisegate.assess.pieces import Pieces, find_pieces
from noisegate.assess.recover import Noise, recover
from noisegate.assess.score import Score, score
from noisegate.assess.search import Search, search
from noisegate.assess.selection import Selection, Statement, parse_lag
from noisegate.assess.services import LATE_MIN
from noisegate.assess.truth import TruthFile
from noisegate.assess.zeros import ZeroRule, zero_rule
from noisegate.errors import DataError, SpecError
from noisegate.report import write_report
from noisegate.tables import Cells, Overrides, Structure, find_structure, read_table, summarise

#: Called with a short description of what is being done.
Progress = Callable[[str], None]
#: So many couplings, those with the most evidence first, are enough to recover noise from.
_MOST_PAIR_SETS = 6
AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person says beyond the tables, checked as far as it can be without them."""

    pairs: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    lag: int
    piece: int | None
    level: float
    attacker: Attacker | None = "informed"
    noise: StatedNoise | None = None
    truth: Path | None = None
    person: str | None = None
    outside: Outside = field(default_factory=Outside)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise SpecError.for_value("--level", found=self.level, allowed="between 0 and 1")
        if self.lag and not self.pairs:
            raise SpecError(
                "--lag says how far apart the two sides of a --pair are; give a --pair, or leave it out."
            )
        if self.attacker is not None and self.attacker not in get_args(Attacker):
            raise SpecError.for_choice(
                "--attacker", found=self.attacker, allowed=(*get_args(Attacker), "none")
            )


def assess(
    paths: Sequence[AnyPath],
    /,
    *,
    overrides: Overrides | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    identities: Sequence[str] = (),
    lag: str | int | timedelta | None = None,
    summed_from: str | int | timedelta | None = None,
    card: AnyPath | None = None,
    noise: str | None = None,
    attacker: Attacker | None = "informed",
    truth: AnyPath | None = None,
    person: str | None = None,
    gtfs: AnyPath | None = None,
    late: int = LATE_MIN,
    stops: AnyPath | None = None,
    k: int = 3,
    claims: Sequence[str] = (),
    weeks: int | None = None,
    level: float = 0.95,
    out: AnyPath | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """What published tables give away.

    Parameters
    ----------
    paths
        CSV or Parquet files, one or more tables of the same events.
    overrides
        What is decided about the files already, see `noisegate.tables.load_overrides`.
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
        The noise of tables from which none can be recovered, as LAW:SCALE ("laplace:1.4").
    attacker
        Who infers the suppressed cells: "informed" learns from the tables how counts vary, "minimal" knows
        nothing beforehand; None leaves cells alone.
    truth, person
        Raw events or counts, which only the custodian has, to score the attack against; and their column
        that says whose event it is.
    gtfs, late, stops
        A timetable (GTFS, zip or folder), by how many minutes at most cards are read off it, and a map of
        published locations to its stops (CSV with the columns location and stop).
    k
        How many vehicles every cell should mix: merges that achieve it are suggested.
    claims
        Shares that are said to be dropped, such as "lightrail off dropped 0.0005%".
    weeks
        How many weeks of such releases to look ahead.
    level
        Of all intervals.
    out
        A directory to make for `assessment.json`, `cells.parquet`, pictures and the report; it must not exist.

    Raises
    ------
    DataError, SpecError, OutputError
        One sentence: what is wrong, and the way out.
    """
    folder = None if out is None else Path(out)
    if folder is not None:
        check_output(folder)
    request = Request(
        pairs=tuple((str(a), str(b)) for a, b in pairs),
        statements=tuple(Statement.parse(text) for text in identities),
        lag=parse_lag(lag),
        piece=None if summed_from is None else parse_lag(summed_from),
        level=level,
        attacker=attacker,
        noise=None if noise is None else StatedNoise.parse(noise),
        truth=None if truth is None else Path(truth),
        person=person,
        outside=Outside(
            gtfs=None if gtfs is None else Path(gtfs),
            late=late,
            stops=None if stops is None else Path(stops),
            k=k,
            claims=tuple(Claim.parse(text) for text in claims),
            weeks=weeks,
        ),
    )
    report = progress or (lambda _: None)
    files = [Path(path) for path in paths]
    structure = _read(files, overrides, report)
    stated = read_card(None if card is None else Path(card), files)
    result = _assess(structure, request, stated, report)
    if folder is not None:
        report("writing")
        with staged(folder) as staging:
            write_assessment(staging, result.to_json())
            write_pictures(staging, result.noise)
            write_weeks_picture(staging, result.sections.weeks)
            if result.inference is not None:
                write_cells(staging, result.inference)
            report("writing the report")
            write_report(staging)
    return result


def _read(files: Sequence[Path], overrides: Overrides | None, report: Progress, /) -> Structure:
    tables = []
    for file in files:
        report(f"reading {file.name}")
        tables.append(read_table(file, overrides=overrides))
    report("finding the structure")
    return find_structure(tables, overrides=overrides)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Facts:
    """What was found out about the tables before anything is judged."""

    structure: Structure
    rows: tuple[MarginRows, ...]
    pieces: Pieces | None
    stated: tuple[Coupling, ...]
    search: Search
    noise: dict[str, Noise]
    zeros: ZeroRule
    card: Card | None
    linked: Linked

    @property
    def couplings(self) -> tuple[Coupling, ...]:
        """Couplings that hold: found, or stated and not refused."""
        refused = {one.title for noise in self.noise.values() for one, _ in noise.refused}
        found = _without(self.search.found, self.stated)
        return tuple(c for c in (*self.stated, *found) if c.title not in refused)


def _assess(structure: Structure, request: Request, card: Card | None, report: Progress, /) -> Assessment:
    base = structure.base
    pieces = find_pieces(base, told=request.piece)
    stated = _stated_couplings(structure, request)
    said = [one for statement in request.statements for one in stated_sets(statement, structure)]
    linked = Linked.of(request.outside, structure, report)
    report("looking for coupled series")
    found = linked.joined(search(base))
    rows = tuple(MarginRows.of(link, pieces) for link in structure.links)
    sets = [*said, *_pair_sets(stated, found, base, pieces), *_margin_sets(rows)]
    noise = recover(
        sets,
        [cells.name for cells in structure.tables],
        level=request.level,
        assumes=pieces.assumption if pieces is not None and pieces.number else "",
        report=report,
    )
    report("testing the zero rule")
    facts = _Facts(
        structure=structure,
        rows=rows,
        pieces=pieces,
        stated=stated,
        search=found,
        noise=noise,
        zeros=zero_rule([one for one in rows if perturbed_apart(one)], noise[base.name].fit),
        card=card,
        linked=linked,
    )
    return _judge(facts, request, report)


def _stated_couplings(structure: Structure, request: Request, /) -> tuple[Coupling, ...]:
    """The stated pairs in the base, and in every margin that has their dimensions and can be shifted."""
    found = []
    for one, two in request.pairs:
        for cells in structure.tables:
            if cells is not structure.base and not _can_hold(cells, (one, two), request.lag):
                continue
            first, second = Selection.parse(one, cells), Selection.parse(two, cells)
            found.append(couple(cells, first, second, lag=request.lag, source="stated"))
    return tuple(found)


def _can_hold(cells: Cells, pair: tuple[str, str], lag: int, /) -> bool:
    """Whether a margin can show a pair: it has the dimensions, and times if there is a lag."""
    moments = Moments.of(cells)
    if lag and (moments.time is None or not moments.step or lag % moments.step):
        return False
    try:
        sides = [Selection.parse(text, cells) for text in pair]
        couple(cells, sides[0], sides[1], lag=lag, source="stated")
    except ValueError:
        return False
    return True


def _pair_sets(
    stated: Sequence[Coupling], found: Search, base: Cells, pieces: Pieces | None, /
) -> list[IdentitySet]:
    sets = [pair_set(coupling, pieces if coupling.cells is base else None) for coupling in stated]
    sets += [pair_set(one, pieces) for one in _without(found.found, stated)]
    return [one for one in sets if one is not None][: max(_MOST_PAIR_SETS, len(stated))]


def _without(found: Sequence[Coupling], stated: Sequence[Coupling], /) -> list[Coupling]:
    """The couplings that were found and that nobody stated."""
    known = {(c.cells.name, c.left.tobytes(), c.right.tobytes()) for c in stated}
    return [c for c in found if (c.cells.name, c.left.tobytes(), c.right.tobytes()) not in known]


def _margin_sets(rows: Sequence[MarginRows], /) -> list[IdentitySet]:
    """Identities with margins that have noise of their own; sums of the published base hold none."""
    sets = [margin_set(one) for one in rows if perturbed_apart(one)]
    return [one for one in sets if one is not None]


def _judge(facts: _Facts, request: Request, report: Progress, /) -> Assessment:
    tables = facts.structure.tables
    results: list[Result] = []
    for cells in tables:
        results += about_thresholds(cells)
    for cells in tables:
        results += about_noise(
            facts.noise[cells.name], facts.card.of(cells) if facts.card is not None else None
        )
    results += _about_pieces(facts)
    results += about_couplings(facts.couplings, facts.search, facts.noise, pieces=facts.pieces)
    for one in facts.rows:
        results += about_margins(one)
    agreement = about_card(facts.card, tables, facts.noise, facts.zeros)
    results += agreement
    card = None if any(isinstance(one, Finding) for one in agreement) else facts.card
    zeros = facts.zeros.or_as_stated(card)
    privacy = _privacy(facts, zeros, card)
    results += about_zeros(zeros, privacy)
    results += about_loss(privacy, card)
    inference, found = _infer(facts, request, zeros, card, report)
    results += found
    scored = _score(facts, request, inference, report)
    results += about_score(scored)
    makers = _makers(facts, request, zeros, card)
    sections = _look_outside(facts, request, makers, privacy, inference, report)
    results += sections.results
    return Assessment(
        tables=tuple(
            AssessedTable(summary=summary, noise=facts.noise[summary.name])
            for summary in summarise(facts.structure)
        ),
        findings=tuple(one for one in results if isinstance(one, Finding)),
        checks=tuple(one for one in results if isinstance(one, Check)),
        privacy=privacy,
        level=request.level,
        structure=facts.structure,
        couplings=facts.couplings,
        pieces=facts.pieces,
        inference=inference,
        score=scored,
        sections=sections,
    )


def _infer(
    facts: _Facts, request: Request, zeros: ZeroRule, card: Card | None, report: Progress, /
) -> tuple[Inference | None, list[Result]]:
    """The posterior of every cell of the base, or why there is none."""
    if request.attacker is None:
        return None, []
    if facts.pieces is not None:
        return None, about_no_inference(
            "not inferred, because the cells of the base are sums of counts that were cut one by one"
        )
    makers = replace(_makers(facts, request, zeros, card), consistent=consistent_tables(facts.rows))
    zero = facts.linked.structural_zero()
    evidence = Evidence.of(facts.structure, facts.rows, makers, couplings=facts.couplings, zero=zero)
    if evidence is None:
        return None, about_no_inference(
            "not inferred, because the noise is not known; state it with --noise, such as --noise laplace:1.4"
        )
    try:
        inference = infer_cells(evidence, attacker=request.attacker, level=request.level, report=report)
    except DataError as problem:
        return None, about_no_inference(f"not inferred: {problem}")
    return inference, about_cells(inference)


def _makers(facts: _Facts, request: Request, zeros: ZeroRule, card: Card | None, /) -> Makers:
    return Makers(noise=facts.noise, card=card, stated=request.noise, zeros=zeros.rule)


def _look_outside(
    facts: _Facts,
    request: Request,
    makers: Makers,
    privacy: Privacy,
    inference: Inference | None,
    report: Progress,
    /,
) -> Sections:
    """What follows from timetables, claims, more weeks and raw trips."""
    base = facts.structure.base
    look = Look(
        structure=facts.structure,
        rows=facts.rows,
        makers=makers,
        privacy=privacy,
        card=makers.card,
        level=request.level,
        totals={} if inference is None else inference.totals,
        truth=None if request.truth is None else TruthFile.open(request.truth, base, person=request.person),
        report=report,
    )
    return look.at(request.outside, facts.linked)


def _score(facts: _Facts, request: Request, inference: Inference | None, report: Progress, /) -> Score | None:
    """How well the attack did, if the truth is given."""
    if request.truth is None:
        return None
    report("counting raw events")
    base = facts.structure.base
    truth = TruthFile.open(request.truth, base, person=request.person).count_cells(base)
    return None if inference is None else score(inference, truth, report=report)


def _about_pieces(facts: _Facts, /) -> list[Result]:
    pieces = facts.pieces
    if pieces is None:
        return []
    name = facts.structure.base.name
    if pieces.number is None:
        title = f"{name}: its cells are sums of counts that were cut one by one, nobody says how many"
    else:
        title = f"{name}: its cells are sums of up to {pieces.number} counts of {pieces.minutes} min"
    said = [pieces.evidence]
    fit = facts.noise[name].fit
    if pieces.number is not None:
        said.append(f"Assumed: {pieces.assumption}.")
    if pieces.number is not None and fit is not None:
        said.append(
            f"If each cell held one noise only, the scale would be about {fit.scale * pieces.number**0.5:.2g}."
        )
    return [
        Check(
            id="summed-cells",
            outcome="known",
            title=title,
            numbers={"pieces": pieces.number, "minutes": pieces.minutes, "cut": pieces.cut},
            evidence=said,
        )
    ]


def _privacy(facts: _Facts, zeros: ZeroRule, card: Card | None, /) -> Privacy:
    """The loss, over all tables but those that are sums of published ones; the card's, if it can be relied on."""
    sums = {one.link.margin.name for one in facts.rows if perturbed_apart(one) is False}
    counted = [cells for cells in facts.structure.tables if cells.name not in sums]
    return privacy_of(counted, facts.noise, zeros=zeros.rule, card=card)
