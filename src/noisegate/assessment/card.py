"""Whether the tables agree with their card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Words
from noisegate.recovery import Noise, NoiseFit, ZeroRule
from noisegate.tables import CARD, Agreement, BesideCard, Card, StatedTable, Table, statements_against

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
        method="Epsilon, delta, privacy unit, variant and date in `registry.yaml` are compared with those on the card beside it.",
    ),
    "hazards": Words(
        says="The statement on the hazards of NIST SP 800-226 says what the card supports.",
    ),
    "hazards-disagrees": Words(
        says="The statement on the hazards of NIST SP 800-226 claims more than the card supports, leaves a hazard out, or cannot be read.",
        meaning="Whoever relies on that statement believes in protection that is not there.",
        method=(
            "Each hazard is worked out again from the card beside `nist-sp-800-226.json`: no status may be better, and no fact other, than "
            "what follows from it. Words may differ."
        ),
    ),
    "crate": Words(
        says="The RO-Crate says what the card says, and lists the files as they are.",
    ),
    "crate-disagrees": Words(
        says="The RO-Crate states another loss, unit or date than the card, or a file is not the one that it lists.",
        meaning="Tables, card or their description were changed after the release was made.",
        method=(
            "Name, date, unit and loss in `ro-crate-metadata.json` are compared with the card beside it, and the SHA-256 digest and the "
            "size of each file with those that it lists."
        ),
    ),
    "intruder-test": Words(
        says="The protocol of a motivated-intruder test that lies beside the tables says what this assessment finds.",
    ),
    "intruder-test-disagrees": Words(
        says="The protocol of a motivated-intruder test was changed, is about other files, or lists less than this assessment finds.",
        meaning="Whoever relies on that test believes that less was found than can be found.",
        method=(
            "The digests, the date, the loss and the findings in `motivated-intruder.json` are compared with the files and with this "
            "assessment. Findings that it lists and this assessment does not are passed over: they may need other options."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Where the tables agree with the card, and where they do not."""
    return [*facts.agreement, *about_statements(facts.stated_card)]


def about_statements(card: Card | None, /) -> list[Result]:
    """Whether each statement that lies beside the card says what the card says."""
    return [] if card is None else [_about(one, agreement) for one, agreement in statements_against(card)]


def _about(statement: BesideCard, agreement: Agreement, /) -> Result:
    good, bad = agreement
    numbers = {"record": statement.file}
    if not bad:
        return Check(
            id=statement.id,
            outcome="fine",
            title=f"the {statement.name} agrees with the card in {len(good)} points",
            numbers=numbers,
            evidence=good,
        )
    return Finding(
        id=f"{statement.id}-disagrees",
        severity="high",
        title=f"The {statement.name} is not what the card says: {bad[0]}",
        numbers={**numbers, "disagreements": len(bad)},
        evidence=bad,
        advice=f"Find out which is wrong, the card, {statement.file} or the files, and correct it before anybody relies on either.",
    )


def about_card(
    card: Card, tables: Sequence[Table], noise: Mapping[str, Noise], zeros: ZeroRule, /
) -> list[Result]:
    """Where the tables agree with the card, and where they do not."""
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
