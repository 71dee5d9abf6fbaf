"""What is found out about tables before anything is judged, each fact when a question first needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

import numpy as np

from noisegate import limits
from noisegate.assessment.card import about_card
from noisegate.assessment.claims import Judged, judge_claim
from noisegate.assessment.differencing import Slivers
from noisegate.assessment.dropped import Dropped
from noisegate.assessment.evidence import AttackEvidence, consistent_tables
from noisegate.assessment.exposure import Exposure
from noisegate.assessment.finding import Finding, Result
from noisegate.assessment.growth import Persons, Weeks
from noisegate.assessment.inference import Inference, infer_cells
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.loss import LossSummary, conditional, privacy_of
from noisegate.assessment.merges import Suggestion, suggest
from noisegate.assessment.microdata import Microdata, PersonEvents, read_person_events
from noisegate.assessment.missing_taps import MissingTaps, missing_taps
from noisegate.assessment.overlaps import SharedSums, sums_of, with_overlaps
from noisegate.assessment.releases_compared import compare_releases
from noisegate.assessment.request import AnyPath, Request, Said
from noisegate.assessment.score import AttackScore, score
from noisegate.assessment.timetable import Timetable, Vehicles
from noisegate.assessment.trajectories import Movement, follow
from noisegate.errors import DataError
from noisegate.inference import LinkedCells, TableSets, find_table_sets, link_cells
from noisegate.laws import PointMass
from noisegate.reading import Overrides, Structure, TableSources, read_structure
from noisegate.recovery import (
    Coupling,
    IdentityLedger,
    IdentitySet,
    Makers,
    MarginRows,
    Noise,
    Pieces,
    Recognition,
    Search,
    Seen,
    ZeroRule,
    family_set,
    find_pieces,
    margin_set,
    not_stated,
    pair_sets,
    perturbed_apart,
    recognise_all,
    recover,
    rounding_bases,
    search,
    stated_couplings,
    stated_sets,
    weigh_identities,
    zero_rule,
)
from noisegate.tables import Card, Table
from noisegate.workload import (
    Answered,
    Truth,
    TruthFile,
    Usefulness,
    WorkloadSource,
    answer_questions,
    find_workload,
    merged_truth,
    usefulness,
)

#: Called with a short description of what is being done.
Progress = Callable[[str], None]
#: Linked cells, tables that are taken to be exact, and whether the base has ranges.
_Linked = tuple[LinkedCells, tuple[str, ...], bool]
#: So many sums of margins tell their noise from that of the base.
_FEWEST_OF_MARGINS = 20
#: How long bounds of hidden counts are sharpened, in all tables of a set of files together.
_SECONDS = 20.0
#: How long sets of tables are looked for that give counts away together.
_SECONDS_TOGETHER = 5.0
_NO_NOISE = "not inferred, because the noise is not known; state it with --noise, such as --noise laplace:1.4, or --noise none for counts as they are"
_BY_SUMS = "not inferred by a law of noise, as there is none; what sums prove of hidden and rounded counts is said by itself"
_BY_RANGES = "not inferred: every count is published within a range, and what sums make of the ranges is said by itself"
_SUMS = "not inferred, because the cells of the base are sums of counts that were cut one by one"


#: Facts about tables that do not depend on those beside them.
_BY_ITSELF = (
    "pieces",
    "search",
    "rows",
    "identity_ledger",
    "_sets",
    "_fitted",
    "_bases",
    "noise",
    "recognised",
    "agreement",
    "_zeros_shown",
    "_linked",
)


class Facts:
    """What was found out about the tables; each fact is worked out once, when somebody asks for it.

    Attributes
    ----------
    structure
        The tables, and how they hang together.
    request
        What a person says beyond them.
    stated_card
        The card as it was found; `card` is the same where the tables do not contradict it.
    report
        Called with what is being done.
    """

    def __init__(
        self,
        structure: Structure,
        request: Request,
        card: Card | None,
        report: Progress,
        /,
        *,
        siblings: dict[int, Facts] | None = None,
    ) -> None:
        self._is_beside = siblings is not None
        self.structure = structure
        self.request = request
        self.stated_card = card
        self.report = report
        self._siblings = {} if siblings is None else siblings

    def beside(self, structure: Structure, /) -> Facts:
        """The facts of tables beside these, each by itself, with what was found out of them before."""
        said = Request(level=self.request.level, attacker=self.request.attacker, noise=self.request.noise)
        found = Facts(structure, said, None, self.report, siblings=self._siblings)
        before = self._siblings.get(id(structure.base))
        if before is not None and before.structure.sisters == structure.sisters:
            known = vars(before)
            vars(found).update({name: known[name] for name in _BY_ITSELF if name in known})
        return found

    @cached_property
    def pieces(self) -> Pieces | None:
        """Whether the cells of the base are sums of pieces."""
        return find_pieces(self.structure.base, told=self.request.piece)

    @cached_property
    def stated(self) -> tuple[Coupling, ...]:
        """The pairs that a person stated, in every table that can show them."""
        return stated_couplings(self.structure.tables, self.request.pairs, lag=self.request.lag)

    @cached_property
    def timetable(self) -> Timetable:
        """The timetable linked to the base; empty if none was given."""
        outside = self.request.outside
        return Timetable() if outside.gtfs is None else Timetable.of(outside, self.structure, self.report)

    @cached_property
    def search(self) -> Search:
        """Couplings among series of the base, and what the timetable adds to them."""
        timetable = None if self.request.outside.gtfs is None else self.timetable
        self.report("looking for coupled series")
        found = search(self.structure.base)
        return found if timetable is None else timetable.joined(found)

    @cached_property
    def rows(self) -> tuple[MarginRows, ...]:
        """The rows of each margin beside the sums of the base."""
        card = self.stated_card
        add_up = card is not None and card.margins in ("derive", "reconcile")
        return tuple(MarginRows.of(link, self.pieces, stated=add_up) for link in self.structure.links)

    @cached_property
    def sound_rows(self) -> tuple[MarginRows, ...]:
        """The rows of the margins that count what the base does, as far as nothing refutes it."""
        if not self.structure.sisters and not any(one.complete.any() for one in self.rows):
            return self.rows  # no sum is whole and nobody else counts the same: nothing can be refuted
        ledger = self.identity_ledger
        refuted = frozenset() if ledger is None else ledger.refuted_totals
        return tuple(one for one in self.rows if one.link.margin.name not in refuted)

    @cached_property
    def noise(self) -> dict[str, Noise]:
        """The noise of each table, by name."""
        fitted = {**self._fitted, **self._beside_exact_totals}
        # Where nothing is rounded and all identities hold, how tables were made has no say in it.
        made = self.recognised if self.bases or any(one.refused for one in fitted.values()) else {}
        return {name: one.beside(made.get(name)) for name, one in fitted.items()}

    @cached_property
    def bases(self) -> dict[str, int]:
        """The base that the values of each table are rounded to, where they are."""
        return rounding_bases(self.structure.tables)

    @cached_property
    def _fitted(self) -> dict[str, Noise]:
        """The law of noise that fits each table best, whether or not it has one."""
        pieces, tables = self.pieces, self.structure.tables
        # Sums of the published base hold no noise of their own.
        apart = [one for one in self.sound_rows if perturbed_apart(one)]
        sums = [found for one in apart if (found := margin_set(one)) is not None]
        return recover(
            [*self._sets, *sums, *self._families_of_margins],
            [cells.name for cells in tables],
            level=self.request.level,
            assumes=pieces.assumption if pieces is not None and pieces.number else "",
            bases=self.bases,
            report=self.report,
        )

    @cached_property
    def _beside_exact_totals(self) -> dict[str, Noise]:
        """The noise of the base where totals have none of their own; empty if that is not so."""
        base, apart = self.structure.base.name, [one for one in self.sound_rows if perturbed_apart(one)]
        exact = {name for name, one in self.recognised.items() if one.silent} - {base} if apart else set()
        sums = [
            found.beside_exact(one.link.margin.name)
            for one in apart
            if one.link.margin.name in exact and (found := margin_set(one)) is not None
        ]
        if not sums:
            return {}
        own = [one for one in self._sets if one.inside == base]
        return recover([*own, *sums], [base], level=self.request.level, bases=self.bases, report=self.report)

    @property
    def _families_of_margins(self) -> list[IdentitySet]:
        """Identities among margins alone, which tell their noise from that of the base."""
        ledger, base = self.identity_ledger, self.structure.base.name
        families = () if ledger is None or len(self.structure.tables) < 3 else ledger.families
        among = [one for one in families if one.parts.name != base and one.n >= _FEWEST_OF_MARGINS]
        return [found for one in among if (found := family_set(one)) is not None]

    @cached_property
    def _sets(self) -> list[IdentitySet]:
        """Identities inside tables: stated ones, and pairs of equal counts."""
        said = [
            one for statement in self.request.statements for one in stated_sets(statement, self.structure)
        ]
        found = self.search.found
        if not self.stated and not found:
            return said
        return [*said, *pair_sets(self.stated, found, self.structure.base, self.pieces)]

    @cached_property
    def identity_ledger(self) -> IdentityLedger | None:
        """Every family of sums among the tables; None if cells are sums of pieces, or too many to look at."""
        tables = self.structure.tables
        if self.pieces is not None or not _few(tables):
            return None
        self.report("weighing identities")
        sisters = [(one.measure, one.tables) for one in self.structure.sisters if _few(one.tables)]
        return weigh_identities(tables, sisters=sisters)

    @cached_property
    def recognised(self) -> dict[str, Recognition]:
        """How each table was made, as far as the tables tell; empty if cells are sums of pieces."""
        if self.pieces is not None:
            return {}
        self.report("recognising the mechanisms")
        refused = {one.title for noise in self._fitted.values() for one, _ in noise.refused}
        sets = [one for one in self._sets if one.title not in refused]
        return recognise_all(self.structure.tables, ledger=self.identity_ledger, sets=sets)

    @cached_property
    def _linked(self) -> _Linked | None:
        """What is linked without a condition on the margins; None if noise is added."""
        return self._link(conditional=False)

    def _link(self, *, conditional: bool) -> _Linked | None:
        """The cells of all tables with the counts that each can be by itself, tables that are taken to be exact, and whether the base has ranges.

        If `conditional`, margins that are likely to be exact are taken to be so, where the base is known to be. None if noise is added.
        """
        ledger, tables = self.identity_ledger, self.structure.tables
        card = self.card
        stated = None if card is None else card.about(tables[0])
        if ledger is None or (stated is not None and stated.law not in (None, "none")):
            return None
        raw = {name for name, one in self.recognised.items() if one.raw_counts or self._stated_exact}
        raw |= ledger.never_below(raw)
        # Too few sums to tell, and all that there are hold: what follows if the shown counts are exact.
        taken = {
            name
            for name, one in self.recognised.items()
            if name not in raw and (one.perhaps_exact or (conditional and one.likely_exact))
        }
        base, lattice = tables[0].name, self.recognised[tables[0].name].base or 1
        if lattice > 1:  # what rounding and noise of totals explain alike proves nothing of rounded counts
            taken = set()
        told = base not in taken and not (conditional and base in raw)
        told = told or stated is not None or self.request.noise is not None
        raw |= set() if told else taken
        ranges = [
            table.ranges() if table.name in raw else self.recognised[table.name].ranges(table)
            for table in tables
        ]
        known = [place for place, one in enumerate(ranges) if one is not None]
        useless = [
            place
            for place, one in enumerate(ledger.linked.families)
            if one.total not in known or one.parts not in known
        ]
        whole = [table.ranges() if one is None else one for table, one in zip(tables, ranges, strict=True)]
        linked = ledger.linked.within(whole).without([*ledger.refused, *useless])
        return linked, tuple(sorted(taken & raw)), ranges[0] is not None

    @cached_property
    def known_counts(self) -> KnownCounts | None:
        """What counts that are hidden or rounded can be, over all tables together; None if there is none, or noise is added.

        Where nothing follows for certain, it is what follows if margins that seem to be exact are: they are few, and silence would look like safety.
        """
        found = self._bounded(self._linked)
        if self._linked is None or (found is not None and found.tells):
            return found
        perhaps = self._bounded(self._link(conditional=True))
        return perhaps if perhaps is not None and perhaps.assumed else found

    def _bounded(self, given: _Linked | None, /) -> KnownCounts | None:
        """The bounds of the cells that are linked; None if no sum holds an open one."""
        if given is None:
            return None
        linked, assumed, able = given
        able = able or self.recognised[self.structure.base.name].kind == "unknown"
        linked, overlaps = with_overlaps(linked, self._shared_sums if able else ())
        touched = np.zeros(linked.low.size, bool)
        touched[linked.equations.cells] = True
        touched[: self.structure.base.size] |= self.recognised[self.structure.base.name].rounded
        if not (touched & (linked.low < linked.high)).any():
            return None
        self.report("bounding hidden counts")
        bounds = linked.solve(seconds=_SECONDS / len(self.structure.every))
        return KnownCounts(linked=linked, bounds=bounds, overlaps=overlaps, assumed=assumed)

    @cached_property
    def table_sets(self) -> TableSets | None:
        """The smallest sets of tables that give hidden counts away; None if none does, one table is all there is, or cells are too many."""
        known = self.known_counts
        if known is None or len(known.linked.tables) < 2 or not known.exact.size:
            return None
        if known.linked.low.size > limits.current().together_cells:
            return None
        self.report("looking for tables that hurt together")
        return find_table_sets(
            known.linked,
            bounds=known.bounds,
            targets=known.exact,
            seconds=_SECONDS_TOGETHER / len(self.structure.every),
        )

    @cached_property
    def _shared_sums(self) -> tuple[SharedSums, ...]:
        """What tables that overlap with the base tell about sums of its cells, where they are not noisy."""
        found = []
        for link in self.structure.shared:
            sides = (
                (link.left, link.onto_left, link.onto_right),
                (link.right, link.onto_right, link.onto_left),
            )
            for table, onto, across in sides:
                other = next(
                    (
                        one
                        for one in self.structure.beside
                        if one.base is (link.right if table is link.left else link.left)
                    ),
                    None,
                )
                if table is not self.structure.base or other is None:
                    continue
                facts = self._siblings.setdefault(id(other.base), self.beside(replace(other, shared=())))
                if (ends := facts.base_range) is not None:
                    low, high = sums_of(across, *ends)
                    raw = facts.shows_counts and self.shows_counts
                    found.append(
                        SharedSums(link=link, onto=onto, low=low, high=high, beside=other.base, raw=raw)
                    )
        return tuple(found)

    @cached_property
    def base_range(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The least and the largest count of each cell of the base, by all tables; None where noise hides it.

        Of rounded counts by one sum at a time: many of them add up to what hardly narrows anything elsewhere.
        """
        size, made = self.structure.base.size, self.recognised.get(self.structure.base.name)
        if self._linked is not None and made is not None and made.rounded:
            bounds = self._linked[0].solve(seconds=0.0)
            return bounds.low[:size], bounds.high[:size]
        if self.known_counts is not None:
            bounds = self.known_counts.bounds
            return bounds.low[:size], bounds.high[:size]
        if made is None or not (self.shows_counts or made.kind == "unknown"):
            return None
        linked = link_cells([self.structure.base])
        return linked.low, linked.high

    @property
    def shows_counts(self) -> bool:
        """Whether the base is known to show counts as they are."""
        found = self.recognised.get(self.structure.base.name)
        return self._stated_exact or (found is not None and found.raw_counts)

    @property
    def _stated_exact(self) -> bool:
        """Whether a person says that counts are published as they are."""
        return isinstance(self.request.noise, PointMass)

    @cached_property
    def couplings(self) -> tuple[Coupling, ...]:
        """Couplings that hold: found, or stated and not refused."""
        refused = {one.title for noise in self.noise.values() for one, _ in noise.refused}
        found = not_stated(self.search.found, self.stated)
        return tuple(c for c in (*self.stated, *found) if c.title not in refused)

    @cached_property
    def _zeros_shown(self) -> ZeroRule:
        """What the tables say about empty cells."""
        fit = self.noise[self.structure.base.name].fit
        self.report("testing the zero rule")
        return zero_rule([one for one in self.rows if perturbed_apart(one)], fit)

    @cached_property
    def agreement(self) -> list[Result]:
        """Where the tables agree with the card, and where they do not; nothing without one."""
        card = self.stated_card
        return [] if card is None else about_card(card, self.structure.tables, self.noise, self._zeros_shown)

    @cached_property
    def card(self) -> Card | None:
        """A card that can be relied on; None if there is none."""
        return None if any(isinstance(one, Finding) for one in self.agreement) else self.stated_card

    @cached_property
    def zeros(self) -> ZeroRule:
        """What happens to empty cells, as the tables or else the card tell."""
        return self._zeros_shown.or_as_stated(self.card)

    @cached_property
    def makers(self) -> Makers:
        """What is known about how each table was made."""
        return Makers(noise=self.noise, card=self.card, stated=self.request.noise, zeros=self.zeros.rule)

    @cached_property
    def privacy(self) -> LossSummary:
        """The loss, over all tables but those that are sums of published ones; the card's, if it can be relied on."""
        counted = [cells for cells in self.structure.tables if cells.name not in self._summed]
        found = privacy_of(counted, self.noise, zeros=self.zeros.rule, card=self.card)
        return conditional(
            found, [self.recognised[one.name] for one in counted if one.name in self.recognised]
        )

    @cached_property
    def _summed(self) -> frozenset[str]:
        """Margins that are sums of the published base."""
        return frozenset(one.link.margin.name for one in self.rows if perturbed_apart(one) is False)

    @cached_property
    def _inferred(self) -> tuple[Inference | None, str]:
        """The posterior of every cell of the base, or why there is none."""
        attacker = self.request.attacker
        if attacker is None:
            return None, ""
        if self.pieces is not None:
            return None, _SUMS
        if self._ranges_suffice:
            return None, _BY_RANGES
        evidence = self._attack_evidence()
        if isinstance(evidence, str):
            return None, evidence
        level = self.request.level
        try:
            return infer_cells(evidence, attacker=attacker, level=level, report=self.report), ""
        except DataError as problem:
            return None, f"not inferred: {problem}"

    @cached_property
    def asked_of(self) -> Inference | None:
        """The posterior that questions about sums are put to; None if there is no law to ask.

        Also of counts that are published as they are or rounded at random, of which an assessment says only what sums prove.
        """
        if self.inference is not None:
            return self.inference
        made = self.recognised.get(self.structure.base.name)
        if self.pieces is not None or made is None:
            return None
        if not (self.shows_counts or made.kind == "random-rounding"):
            return None
        raw = frozenset(name for name, one in self.recognised.items() if one.raw_counts)
        evidence = self._attack_evidence(raw)
        if isinstance(evidence, str):
            return None
        return infer_cells(evidence, level=self.request.level, report=self.report)

    def _attack_evidence(self, raw: frozenset[str] = frozenset(), /) -> AttackEvidence | str:
        """What speaks about the cells of the base, or why nothing does; `raw` are tables that are taken to show counts as they are."""
        makers = replace(self.makers, consistent=consistent_tables(self.rows) | raw)
        zero = None if self.request.outside.gtfs is None else self.timetable.structural_zero()
        given = (self.structure, self.rows, makers)
        found = AttackEvidence.of(*given, couplings=self.couplings, zero=zero)
        if found is not None:
            # What is proven of the cells rests on these tables: what is likely may not contradict it.
            more = self._exact_beside(found) - raw
            return self._attack_evidence(raw | more) if more else found
        made = self.recognised.get(self.structure.base.name)
        if made is not None and (made.raw_counts or made.rounded):
            return _BY_SUMS
        known = self.known_counts
        if known is not None and self.structure.base.name in known.assumed:
            # What is proven of the cells and what is likely rest on the same condition.
            return self._attack_evidence(raw | frozenset(known.assumed))
        if self.structure.base.name in self.bases:
            return _NO_NOISE  # totals do not tell the scale of what is added before rounding
        self.report("weighing scales of noise")
        found = AttackEvidence.without_noise_known(*given, couplings=self.couplings, zero=zero)
        return _NO_NOISE if found is None else found

    def _exact_beside(self, found: AttackEvidence, /) -> frozenset[str]:
        """Tables that are no evidence, though bounds of a base of exact counts take them to show counts as they are."""
        known = self.known_counts if isinstance(found.base.mechanism.law, PointMass) else None
        if known is None or not found.left_out:
            return frozenset()
        exact = {name for name, one in self.recognised.items() if one.raw_counts} | set(known.assumed)
        return frozenset(exact & {name for name, _ in found.left_out})

    @property
    def _ranges_suffice(self) -> bool:
        """Whether the bounds of counts say what there is: rounded ones, and exact ones of which none is hidden or which are not the first."""
        base = self.structure.base.name
        told = self.card is not None or self.request.noise is not None or self.couplings
        noisy = not self.bases and self._fitted[base].fit is not None
        if told or noisy:
            return False
        made = self.recognised.get(base)
        if made is None or not (made.raw_counts or made.rounded):
            return False
        return made.rounded or self._is_beside or not self.structure.base.suppressed

    @property
    def inference(self) -> Inference | None:
        """The posterior of every cell of the base; None if nobody asked for it, or it cannot be had."""
        return self._inferred[0]

    @property
    def why_not_inferred(self) -> str:
        """Why there is no posterior; empty if there is one."""
        return self._inferred[1]

    @cached_property
    def asked(self) -> WorkloadSource | None:
        """The questions of the workload, on the card or in a spec."""
        return find_workload(self.card, self.request.workload)

    @cached_property
    def truth_file(self) -> TruthFile | None:
        """The raw data, if they are given."""
        request = self.request
        if request.truth is None:
            return None
        return TruthFile.open(
            request.truth, self.structure.base, person=request.person, spec=request.workload
        )

    @cached_property
    def truth(self) -> Truth | None:
        """The raw count of every cell, if it is given."""
        asked, file = self.asked, self.truth_file
        if file is None:
            return None
        self.report("counting raw events")
        merged = None if asked is None else merged_truth(asked, self.structure, file)
        return file.count_cells(self.structure.base) if merged is None else merged

    @cached_property
    def score(self) -> AttackScore | None:
        """How well the attack really did."""
        inference, truth = self.inference, self.truth
        if inference is None or truth is None:
            return None
        return score(inference, truth, report=self.report)

    @cached_property
    def useful(self) -> Usefulness | None:
        """The error of each question of the workload, against the raw data."""
        if self.truth is None:
            return None
        self.report("measuring the workload")
        return usefulness(self.structure, self.truth, asked=self.asked)

    @cached_property
    def answered(self) -> Answered | None:
        """The questions of the workload answered from the release, where there are no raw data."""
        if self.truth is not None or self.asked is None:
            return None
        return answer_questions(self.asked, level=self.request.level, report=self.report)

    @cached_property
    def person_events(self) -> PersonEvents | None:
        """The raw events in the order of persons; None if the raw data do not say whose they are."""
        file = self.truth_file
        return None if file is None or file.person is None else read_person_events(file, self.structure.base)

    @cached_property
    def microdata(self) -> Microdata | None:
        """How many persons a few known points single out in the raw events."""
        if self.person_events is None:
            return None
        self.report("looking for persons who are unique")
        # The same persons are drawn on every run.
        return Microdata.of(self.person_events, rng=np.random.default_rng(0), level=self.request.level)

    @cached_property
    def exposure(self) -> Exposure | None:
        """Table of one vehicle; None without a timetable."""
        services = self.timetable.services
        if services is None:
            return None
        self.report("looking at vehicles behind cells")
        return Exposure.of(services)

    @cached_property
    def merges(self) -> Suggestion | None:
        """What to merge so that every cell mixes several vehicles."""
        services = self.timetable.services
        return None if services is None else suggest(services, self.structure, k=self.request.outside.k)

    @cached_property
    def missing_taps(self) -> tuple[MissingTaps, ...]:
        """The residuals of all margins with noise of their own, and the cells that they may belong to."""
        services = self.timetable.services
        base = None if services is None else self.makers.of(self.structure.base, self.structure)
        if services is None or base is None or base.mechanism.threshold is None:
            return ()
        found: list[MissingTaps] = []
        for one in self.rows:
            margin = self.makers.of(one.link.margin, self.structure)
            if margin is None or one.pieces is not None or perturbed_apart(one) is False or one.link.unlisted:
                continue
            found += missing_taps(services, one, base=base, margin=margin, level=self.request.level)
        return tuple(found)

    @cached_property
    def vehicles(self) -> Vehicles | None:
        """Everything that the timetable says about the vehicles behind cells."""
        services, closed, exposure = self.timetable.services, self.timetable.closed, self.exposure
        if services is None or closed is None or exposure is None:
            return None
        return Vehicles(
            services=services,
            closed=closed,
            unused=self.timetable.unused,
            exposure=exposure,
            missing=self.missing_taps,
            merges=self.merges,
        )

    @cached_property
    def dropped(self) -> Dropped:
        """Rows and trips that the tables do not show."""
        return Dropped.of(
            self.structure, self.rows, self.makers, level=self.request.level, inference=self.inference
        )

    @cached_property
    def claims(self) -> tuple[Judged, ...]:
        """What was stated about dropped rows, beside the tables."""
        stated = self.request.outside.claims
        return tuple(one for claim in stated for one in judge_claim(claim, self.dropped))

    @cached_property
    def weeks(self) -> Weeks | None:
        """What more weeks would give away; None if nobody asked, or the noise is not known."""
        horizon = self.request.outside.weeks
        if horizon is None:
            return None
        events = self.person_events
        self.report("looking ahead")
        tables = self._counted()
        if not tables:
            return None
        weeks = Weeks.of(
            tables,
            self.rows,
            horizon=horizon,
            level=self.request.level,
            zeros_known=self.makers.zeros is not None,
            card=self.card,
        )
        if events is None:
            return weeks
        persons = Persons.of(events.events, days=events.days, event_epsilon=self.privacy.event_epsilon)
        return replace(weeks, persons=persons)

    @cached_property
    def slivers(self) -> tuple[Slivers, ...]:
        """What every two tables of the same dimensions give away together: here, beside, and in releases that somebody names."""
        others = [read_structure([path], progress=self.report) for path in self.request.outside.against]
        if others:
            self.report("comparing releases")
        return compare_releases(
            self.structure,
            others,
            card=self.card,
            noise=self.request.noise,
            level=self.request.level,
            areas=self.request.outside.areas,
        )

    @cached_property
    def movement(self) -> Movement | None:
        """What comes of following people through the counts; None if nobody asked."""
        if not self.request.outside.movement or self._is_beside:
            return None
        self.report("following people")
        base = self.structure.base
        seen = self.makers.of(base, self.structure)
        wide = 0.0 if seen is None else seen.mechanism.published_law.variance**0.5
        return follow(base, noise_sd=wide, events=self.person_events)

    def _counted(self) -> list[Seen]:
        """The tables that add to the loss, the base first; empty if the noise of the base is not known."""
        found = []
        for cells in self.structure.tables:
            said = None if self.card is None else self.card.about(cells)
            own = said.scale is not None if said is not None else cells.name not in self._summed
            seen = self.makers.of(cells, self.structure) if own else None
            if seen is None and cells is self.structure.base:
                return []
            if seen is not None:
                found.append(seen)
        return found


def find_facts(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    card: AnyPath | None = None,
    progress: Progress | None = None,
    **said: Unpack[Said],
) -> Facts:
    """What published tables tell, each fact worked out when it is first asked for; see `assess`."""
    request = Request.of(**said)
    report = progress or (lambda _: None)
    structure = read_structure(
        tables, overrides=overrides, card=None if card is None else Path(card), progress=report
    )
    if isinstance(request.noise, PointMass):
        _without_negatives(structure.tables)
    return Facts(structure, request, structure.release.card, report)


def _without_negatives(tables: Sequence[Table], /) -> None:
    """Refuse tables that are said to show counts as they are, and cannot."""
    for table in tables:
        if table.values.size and table.values.min() < 0:
            raise DataError(
                f"{table.name} holds values below 0, which no count is before noise; leave out --noise none, or state the noise, such as "
                "--noise laplace:1.4."
            )


def _few(tables: Sequence[Table], /) -> bool:
    """Whether the cells of tables are few enough to be looked at one by one."""
    return sum(table.size for table in tables) <= limits.current().linked_cells
