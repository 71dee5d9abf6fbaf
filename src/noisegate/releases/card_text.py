"""The card in words, for people: CARD.md."""

from __future__ import annotations

from typing import Any

_ESCAPED = str.maketrans({c: f"\\{c}" for c in r"\`*_{}[]<>#|"})


def card_text(card: dict[str, Any], /) -> str:
    """The card as Markdown."""
    return "\n".join(
        [
            f"# {escaped(card['name'])}: how these tables were made",
            "",
            *_warning(card),
            *_promise(card),
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


def _warning(card: dict[str, Any], /) -> list[str]:
    lines = []
    if card["simulated"]:
        lines += [
            "**Made with repeatable noise for a demonstration. It protects nobody; do not publish it.**",
            "",
        ]
    if card["unsafe"]:
        lines += ["## Unsafe choices", ""]
        for choice in card["unsafe"]:
            figures = ", ".join(
                f"{name.replace('_', ' ')} {_number(value)}"
                for name, value in choice.items()
                if isinstance(value, float)
            )
            lines.append(f"- **{escaped(choice['choice'])}**: {escaped(choice['consequence'])} ({figures}).")
        lines.append("")
    return lines


def _promise(card: dict[str, Any], /) -> list[str]:
    parameters, loss = card["privacy_parameters"], card["privacy_loss"]
    lines = [
        "## What is promised",
        "",
        f"Protected: {escaped(card['privacy_unit_description'])}.",
        f"All tables together: epsilon {_number(parameters['epsilon'])}, delta {_number(parameters['delta'])}",
        f"({card['dp_variant']}, one unit added or removed).",
        "",
        "| whose | epsilon | delta |",
        "|---|---|---|",
    ]
    for name, key in (("one event", "event"), ("one person-day", "person_day"), ("one person", "person")):
        part = loss[key]
        if part is None:
            lines.append(f"| {name} | not bounded | not bounded |")
        else:
            lines.append(f"| {name} | {_number(part['epsilon'])} | {_number(part['delta'])} |")
    example = loss["person_example"]
    if example is not None:
        lines.append(
            f"| a person with {example['events']} events, each {example['each']} | {_number(example['epsilon'])} | {_number(example['delta'])} |"
        )
    if loss["parts_of_a_unit"] is not None:
        lines += ["", f"Of a part of a unit: {loss['parts_of_a_unit']}."]
    return [*lines, ""]


def _tables(card: dict[str, Any], /) -> list[str]:
    lines = [
        "## The tables",
        "",
        "| table | dimensions | cells | rows | noise | scale | published from | expected error | 95 % within |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, table in card["tables"].items():
        noise, cut, error = table["noise"], table["threshold"], table["error"]
        lines.append(
            f"| {escaped(name)} | {escaped(', '.join(table['dimensions']))} | {table['cells']:,} | {table['rows']:,} "
            f"| {noise['law'] if noise else 'summed'} | {_number(noise['scale']) if noise else '-'} "
            f"| {cut['value'] if cut else 'all'} | {_number(error['expected_absolute'])} | ± {error['half_width']} |"
        )
    return [*lines, ""]


def _workload(card: dict[str, Any], /) -> list[str]:
    if "workload" not in card:
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
    for entry in card["workload"]:
        noise = entry.get("noise")
        lines.append(
            f"| {escaped(entry['name'])} | {noise['groups']:,} | {escaped(noise['table'])} "
            f"| {_number(noise['expected_absolute'])} | ± {noise['half_width']} |"
            if noise
            else f"| {escaped(entry['name'])} | - | - | not answered: {escaped(entry['reason'])} | - |"
        )
    return [*lines, ""]


def _reading(card: dict[str, Any], /) -> list[str]:
    lines = [
        "## How to read them",
        "",
        "- A missing row is a count that was left out, not a zero.",
        "- The interval holds for a published cell before small values were cut and counts made non-negative;",
        "  small published counts are a little too high on average, because only those above the threshold are shown.",
    ]
    lines += [f"- {step[0].upper()}{step[1:]}." for step in card["post_processing"]]
    return [*lines, ""]


def _details(card: dict[str, Any], /) -> list[str]:
    lines = ["## Not protected", ""]
    lines += [f"- {escaped(one)}" for one in card["not_protected"]]
    mechanism = card["mechanism"]
    lines += [
        "",
        "## Details",
        "",
        f"- Noise: {mechanism['law']}, {mechanism['sampler']}; zeros are {'kept' if mechanism['zeros'] == 'keep' else 'perturbed like any count'}.",
        f"- Margins: {mechanism['margins']}: {mechanism['margins_description']}.",
        f"- {card['composition'][0].upper()}{card['composition'][1:]}.",
        f"- Ledger: reservation {escaped(card['ledger']['reservation'])}.",
        f"- Software: {card['software']['name']} {card['software']['version']}. The same in full: card.json.",
        "",
    ]
    return lines
