"""`noisegate mechanism`: what one way of publishing a count gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from noisegate.cli.output import JsonOption, check_outputs, console, number, write_json
from noisegate.cli.tabular import FormatOption, TableOutput, ToOption

#: What becomes of empty cells, in words.
_ZEROS = {"keep": "kept", "perturb": "perturbed", "show": "kept and shown"}


def mechanism(
    *,
    law: Annotated[
        str,
        typer.Option(
            help="laplace, rounded-laplace, discrete-laplace, gaussian, discrete-gaussian, uniform or random-rounding."
        ),
    ] = "laplace",
    scale: Annotated[float, typer.Option(help="Scale of the noise (sigma, width or base, by law).")] = 1.4,
    threshold: Annotated[
        float | None, typer.Option(help="Publish only what passes it; none: no cut.")
    ] = None,
    rule: Annotated[str, typer.Option(help="gt: publish above the threshold; ge: at or above it.")] = "gt",
    rounding: Annotated[str, typer.Option(help="none, or to the nearest integer.")] = "none",
    cut: Annotated[
        str, typer.Option(help="The threshold looks at the value before or after rounding.")
    ] = "after",
    zeros: Annotated[
        str,
        typer.Option(
            help="keep: a raw 0 stays 0, as in 2016; perturb: noise on it too; show: 0 is shown whatever the threshold."
        ),
    ] = "keep",
    events: Annotated[
        list[int] | None,
        typer.Option(help="A number of events of a person that an attacker knows; may be repeated."),
    ] = None,
    prior: Annotated[
        float, typer.Option(help="How likely it is beforehand that the person is in the data.")
    ] = 0.5,
    others: Annotated[
        int | None,
        typer.Option(help="People beside the person in each cell; none: the worst case over all data."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Picture as .svg, .png or .html.")] = None,
    json: JsonOption = None,
    form: FormatOption = None,
    to: ToOption = None,
) -> None:
    """Exact detection probabilities, privacy curve and verdict of one mechanism.

    Example, the 2016 release: noisegate mechanism --law laplace --scale 1.4 --threshold 18

    Example, corrected: noisegate mechanism --scale 1.4 --threshold 18 --zeros perturb --plot m.svg

    Example, somebody knows 32 trips of a person: noisegate mechanism --scale 1.515 --zeros perturb --events 32

    Example, the privacy curve as a table: noisegate mechanism --scale 1.4 --format csv
    """
    from noisegate.laws import make_law
    from noisegate.mechanisms import Mechanism, statement

    check_outputs(json, plot=plot)
    curve = TableOutput.asked(form, to, json_to=json, inputs=[plot])
    chosen = Mechanism(
        law=make_law(law, scale=scale),
        threshold=threshold,
        rule=rule,  # type: ignore[arg-type]  # Mechanism checks the word and names the allowed ones
        rounding=rounding,  # type: ignore[arg-type]
        cut=cut,  # type: ignore[arg-type]
        zeros=zeros,  # type: ignore[arg-type]
    )
    facts = statement(chosen, prior=prior, events=events or (), others=others)
    _show(facts)
    if plot is not None:
        from noisegate.pictures import mechanism_picture, save

        save(mechanism_picture(chosen), plot)
        console.print(f"\nPicture: {plot}")
    write_json(json, facts)
    curve.write(facts["curve"])


def _show(facts: dict[str, Any], /) -> None:
    made = facts["mechanism"]
    cut = (
        "no cut"
        if made["threshold"] is None
        else f"published when {_sign(made['rule'])} {number(made['threshold'])}"
    )
    console.print(
        f"[bold]{made['law']}[/bold] scale {number(made['scale'])}, rounding {made['rounding']}, {cut}, "
        f"zeros {_ZEROS[made['zeros']]}\n"
    )
    console.print(f"[bold]{facts['verdict']}[/bold]\n")
    console.print(
        f"Exact delta at epsilon = 1/scale = {number(facts['delta_at_epsilon'])}: [bold]{number(facts['delta'])}[/bold]\n"
    )
    detection = Table(title="A group in an otherwise empty cell", title_justify="left")
    detection.add_column("group", justify="right")
    detection.add_column("shown for certain with probability", justify="right")
    for row in facts["detection"]:
        detection.add_row(str(row["group"]), number(row["probability"]))
    console.print(detection)
    _show_certainty(facts)
    curve = Table(title="Privacy curve (one event added or removed)", title_justify="left")
    curve.add_column("epsilon", justify="right")
    curve.add_column("exact delta", justify="right")
    for row in facts["curve"][:: max(1, len(facts["curve"]) // 6)]:
        curve.add_row(number(row["epsilon"]), number(row["delta"]))
    console.print(curve)
    console.print(
        "One event in one table. An event that is in three tables costs up to three times this epsilon;\n"
        "a person with many events costs more: see docs/explanation/privacy-units.md."
    )


def _show_certainty(facts: dict[str, Any], /) -> None:
    """How often the best test is right, beside guessing."""
    if facts["certainty"] is None:
        console.print("How sure an attacker can be of a person is not worked out for this noise.")
        return
    assumes = facts["certainty_assumes"]
    table = Table(title="Is a person in the data? The best test there can be", title_justify="left")
    for name in ("events known", "right with probability", "if all in one cell", "by guessing"):
        table.add_column(name, justify="right")
    for row in facts["certainty"]:
        shown = [f"{row[key]:.1%}" for key in ("high", "same_cell_high", "baseline")]
        table.add_row(str(row["events"]), *shown)
    console.print(table)
    named = [
        f"{row['events']}: {row['who']}" for row in facts["certainty"] if not row["who"].endswith("events")
    ]
    beside = (
        "in the worst case"
        if assumes["others"] is None
        else f"beside {assumes['others']:,} others in each cell"
    )
    console.print(
        f"{', '.join(named)}; each in a cell of its own, or all in one.\n"
        f"By somebody who knows these events and everything else, {beside}.\n"
        f"Beforehand the person is in with probability {number(assumes['prior'])}.\n"
    )


def _sign(rule: str, /) -> str:
    return {"gt": ">", "ge": ">="}[rule]
