"""Whether the tables agree with their card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Words
from noisegate.errors import DataError
from noisegate.recovery import Noise, NoiseFit, ZeroRule
from noisegate.tables import CARD, REGISTRY, Card, StatedTable, Table, read_record, record_against

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

WORDS: Mapping[str, Words] = {
    "card": Words(
        says="Points in which tables and card agree.",
    ),
    "card-disagrees": Words(
        says="Cut, law, scale or zero rule are not those on the card.",
        meaning="The tables are not what their card says.",
        method=(
            "What the card states (least count shown, law, scale, rule for zeros) is compared with what the "
            "tables show. A scale disagrees only when it lies well outside the recovered interval."
        ),
    ),
    "registry": Words(
        says="The record for a registry of deployments says what the card says.",
    ),
    "registry-disagrees": Words(
        says="The record for a registry of deployments states another loss, unit or variant than the card, or cannot be read.",
        meaning="Whoever reads the registry is promised something else than whoever reads the card.",
        method="Epsilon, delta, privacy unit and variant in `registry.yaml` are compared with those on the card beside it.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Where the tables agree with the card, and where they do not."""
    return [*facts.agreement, *about_record(facts.stated_card)]


def about_record(card: Card | None, /) -> list[Result]:
    """Whether the record for a registry of deployments, if one lies beside the card, says what the card says."""
    if card is None or card.path is None or not (card.path.parent / REGISTRY).exists():
        return []
    try:
        good, bad = record_against(read_record(card.path.parent / REGISTRY), card)
    except DataError as problem:
        good, bad = [], [str(problem)]
    if not bad:
        title = f"the registry record agrees with the card in {len(good)} points"
        return [
            Check(id="registry", outcome="fine", title=title, numbers={"record": REGISTRY}, evidence=good)
        ]
    return [
        Finding(
            id="registry-disagrees",
            severity="high",
            title=f"The registry record is not what the card says: {bad[0]}",
            numbers={"record": REGISTRY, "disagreements": len(bad)},
            evidence=bad,
            advice="Find out which is wrong, the card or the record, and correct the record before it is handed in.",
        )
    ]


def about_card(
    card: Card | None, tables: Sequence[Table], noise: Mapping[str, Noise], zeros: ZeroRule, /
) -> list[Result]:
    """Where the tables agree with the card, and where they do not."""
    if card is None:
        return []
    agreed: list[str] = []
    wrong: list[str] = []
    for cells in tables:
        stated = card.about(cells)
        if stated is None:
            continue
        good, bad = _compare(cells, stated, noise[cells.name].fit, reconciled=card.margins == "reconcile")
        agreed += good
        wrong += bad
    if zeros.source == "tables" and card.zeros is not None:
        said = f"zeros: the tables say {zeros.rule} ({zeros.statement}), the card says {card.zeros}"
        (agreed if zeros.rule == card.zeros else wrong).append(said)
    results: list[Result] = []
    if wrong:
        results.append(
            Finding(
                id="card-disagrees",
                severity="high",
                title=f"The tables are not what their card says: {wrong[0]}",
                numbers={"card": CARD if card.path is None else card.path.name, "disagreements": len(wrong)},
                evidence=wrong,
                advice="Find out which is wrong, the card or the tables, before anybody relies on either.",
            )
        )
    if agreed:
        results.append(
            Check(
                id="card",
                outcome="fine",
                title=f"the tables agree with the card in {len(agreed)} points that can be checked",
                numbers={"card": CARD if card.path is None else card.path.name},
                evidence=agreed,
            )
        )
    return results


def _compare(
    cells: Table, stated: StatedTable, fit: NoiseFit | None, /, *, reconciled: bool
) -> tuple[list[str], list[str]]:
    good: list[str] = []
    bad: list[str] = []
    least = cells.threshold.value
    if cells.values.size and stated.threshold is not None and float(cells.values.min()) < stated.threshold:
        bad.append(
            f"{cells.name} shows {float(cells.values.min()):g}, the card says published from {stated.threshold:g} on"
        )
    elif stated.threshold is not None and least == stated.threshold:
        good.append(f"{cells.name} is published from {least:g} on, as the card says")
    if fit is None or stated.scale is None or stated.law is None or fit.law == "none":
        return good, bad
    low, high = fit.interval
    what = f"{cells.name}: recovered scale {fit.scale:.3g} ({low:.3g} to {high:.3g}), the card says {stated.scale:.3g}"
    if not fit.allows(stated.law):
        bad.append(f"{cells.name}: the noise is {fit.law}, the card says {stated.law}")
    elif low <= stated.scale <= high or (reconciled and fit.scale <= stated.scale):
        good.append(f"{what}; reconciling makes it smaller" if reconciled else what)
    elif fit.contradicts(stated.law, stated.scale):
        bad.append(what)
    return good, bad


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
