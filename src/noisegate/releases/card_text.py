"""The card in words, for people: CARD.md."""

from __future__ import annotations

import math

from noisegate.tables import Card, CardLoss

_UNKNOWN = CardLoss(epsilon=None, delta=None)
_ESCAPED = str.maketrans({c: f"\\{c}" for c in r"\`*_{}[]<>#|"})


def card_text(card: Card, /) -> str:
    """The card as Markdown."""
    return "\n".join(
        [
            f"# {escaped(card.name or '')}: how these tables were made",
            "",
            *_warning(card),
            *_promise(card),
            *_attacker(card),
            *_series(card),
            *_tables(card),
            *_workload(card),
            *_reading(card),
            *_details(card),
        ]
    )


def escaped(text: str, /) -> str:
    """Text that came from a spec, harmless in Markdown and HTML."""
    return " ".join(str(text).split()).translate(_ESCAPED)


def _number(value: float | None, /) -> str:
    return "-" if value is None else f"{value:.4g}"


def _warning(card: Card, /) -> list[str]:
    lines = []
    if card.simulated:
        lines += [
            "**Made with repeatable noise for a demonstration. It protects nobody; do not publish it.**",
            "",
        ]
    if card.unsafe:
        lines += ["## Unsafe choices", ""]
        for choice in card.unsafe:
            figures = ", ".join(
                f"{name.replace('_', ' ')} {_number(value)}"
                for name, value in choice.items()
                if isinstance(value, float)
            )
            lines.append(f"- **{escaped(choice['choice'])}**: {escaped(choice['consequence'])} ({figures}).")
        lines.append("")
    return lines


def _promise(card: Card, /) -> list[str]:
    charged, losses = card.parameters or _UNKNOWN, card.losses
    lines = [
        "## What is promised",
        "",
        f"Protected: {escaped(card.unit_description or '')}.",
        f"All tables together: epsilon {_number(charged.epsilon)}, delta {_number(charged.delta)}",
        f"({card.dp_variant}, one unit added or removed).",
        *([] if card.published is None else ["", f"Released on {escaped(card.published)}."]),
        "",
        "| whose | epsilon | delta |",
        "|---|---|---|",
    ]
    whose = (
        ("one event", losses.event),
        ("one person-day", losses.person_day),
        ("one person", losses.person),
    )
    for name, loss in whose:
        if loss is None:
            lines.append(f"| {name} | not bounded | not bounded |")
        else:
            lines.append(f"| {name} | {_number(loss.epsilon)} | {_number(loss.delta)} |")
    example = losses.example
    if example is not None:
        lines.append(
            f"| a person with {example.events} events, each {example.each} | {_number(example.loss.epsilon)} "
            f"| {_number(example.loss.delta)} |"
        )
    if losses.parts_of_a_unit is not None:
        lines += ["", f"Of a part of a unit: {losses.parts_of_a_unit}."]
    return [*lines, ""]


def _attacker(card: Card, /) -> list[str]:
    if not card.attacker:
        return []
    return [
        "## What somebody could find out about one person",
        "",
        "Somebody who knows everything else, and what the person would have done, guesses from these tables whether the person is in the",
        "data. However clever the test, it is right no more often than this; tossing a coin is right half of the time.",
        "",
        "| about | right at most | by tossing a coin |",
        "|---|---|---|",
        *(
            f"| {escaped(one.whose)} | {_percent(one.right)} | {_percent(one.guessing)} |"
            for one in card.attacker
        ),
        "",
    ]


def _percent(share: float, /) -> str:
    """With a digit more where it is close to certain, and never rounded down to what is better."""
    digits = 1 if share < 0.999 else 3
    return f"{math.ceil(share * 100 * 10**digits - 1e-6) / 10**digits:.{digits}f} %"


def _series(card: Card, /) -> list[str]:
    said = card.series
    if said is None:
        return []
    what = "the sum of weeks 1 to" if said["of"] == "all weeks so far" else "week"
    figures = [
        f"{name} {_number(said[key])}"
        for name, key in (
            ("a week has", "variance_of_a_week"),
            ("a running total", "variance_of_a_running_total"),
            ("the total of all weeks", "variance_of_the_total"),
        )
        if said[key] is not None
    ]
    lines = [
        "## The series",
        "",
        f"These tables are {what} {said['week']} of {said['weeks']} ({said['first_day']} to {said['last_day']}) of the series {escaped(said['name'])}.",
        "The promise above is for all weeks of the series together: it was paid once.",
        f"Strategy: {said['strategy']}, {said['measurements']} measurements. On average, over the variance of one of as many independent weeks on the",
        f"same budget, {', '.join(figures)}.",
    ]
    if said["running"] is not None:
        lines.append(
            f"The folder `{said['running']}` holds the sum of all weeks so far, with a card of its own; it has less noise than weeks that are added up."
        )
    if said["measured"]:
        lines.append(
            "The folder `measured` holds what was measured for this week, noise included; later weeks are told from it."
        )
    return [*lines, ""]


def _tables(card: Card, /) -> list[str]:
    lines = [
        "## The tables",
        "",
        "| table | dimensions | cells | rows | noise | scale | published from | expected error | 95 % within |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for table in card.tables:
        noise, error = table.noise, table.error
        lines.append(
            f"| {escaped(table.name)} | {escaped(', '.join(table.dimensions))} | {table.cells:,} | {table.rows:,} "
            f"| {noise.law if noise else 'summed'} | {_number(noise.scale) if noise else '-'} "
            f"| {'all' if table.threshold is None else table.threshold} "
            f"| {_number(error.expected_absolute if error else None)} | ± {error.half_width if error else '-'} |"
        )
    return [*lines, ""]


def _workload(card: Card, /) -> list[str]:
    if not card.workload:
        return []
    lines = [
        "## Questions this release was made for",
        "",
        "Errors are those of the noise, known beforehand: the same whatever the events are, but for reconciled tables, where",
        "small counts have other errors, mostly smaller. Rows that were left out add to them; `noisegate query` gives",
        "intervals that allow for both.",
        "",
        "| question | groups | table | expected error | 95 % within |",
        "|---|---|---|---|---|",
    ]
    for entry in card.workload:
        name, noise = escaped(entry.question.name), entry.noise
        lines.append(
            f"| {name} | {noise.groups:,} | {escaped(noise.table)} "
            f"| {_number(noise.expected_absolute)} | ± {noise.half_width} |"
            if noise
            else f"| {name} | - | - | not answered: {escaped(entry.question.reason or '')} | - |"
        )
    return [*lines, ""]


def _reading(card: Card, /) -> list[str]:
    lines = [
        "## How to read them",
        "",
        "- A missing row is a count that was left out, not a zero.",
        "- The interval holds for a published cell before small values were cut and counts made non-negative;",
        "  small published counts are a little too high on average, because only those above the threshold are shown.",
    ]
    lines += [f"- {step[0].upper()}{step[1:]}." for step in card.post_processing]
    clipped = None if card.bounding is None else card.bounding.clipped
    if clipped is not None:
        lines.append(
            f"- Beyond the bound: {_share(clipped.units, clipped.units_low, clipped.units_high)} of the units had more than "
            f"counts, and {_share(clipped.events, clipped.events_low, clipped.events_high)} of the events, at least, are not counted."
        )
    return [*lines, ""]


def _share(share: float, low: float, high: float, /) -> str:
    return f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def _details(card: Card, /) -> list[str]:
    lines = ["## Not protected", ""]
    lines += [f"- {escaped(one)}" for one in card.not_protected]
    mechanism, composition, software = card.mechanism, card.composition or "", card.software
    lines += [
        "",
        "## Details",
        "",
        f"- Noise: {mechanism.law}, {mechanism.sampler}; zeros are {'kept' if mechanism.zeros == 'keep' else 'perturbed like any count'}.",
        f"- Margins: {mechanism.margins}: {mechanism.margins_description}.",
        f"- {composition[:1].upper()}{composition[1:]}.",
        f"- Ledger: reservation {escaped(card.payment.reservation or '')}.",
        f"- Software: {software.name if software else '-'} {software.version if software else '-'}. The same in full: card.json.",
        "",
    ]
    return lines
