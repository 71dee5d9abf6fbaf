"""The commands and their options, read from the Typer app itself."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import typer.main
from markdown import code, page, plain, table

from noisegate.cli.main import app

_EXIT_CODES = (
    ("0", "fine"),
    ("1", "a fault of ours"),
    ("2", "bad input; one sentence says what, what was found, what is allowed and the way out"),
    ("3", "a gate said no: `--fail-on`, or the budget in the ledger"),
    ("130", "interrupted"),
)
_KINDS = {int: "whole number", float: "number", str: "text", Path: "path", list[str]: "text", bool: ""}


def commands_page() -> str:
    """`commands.md`: every command with its arguments, options, defaults and examples."""
    group: Any = typer.main.get_command(app)
    parts = [
        f"{group.help}\n\n`noisegate --version` prints the version, `noisegate COMMAND --help` what stands here.",
        "## Exit codes\n\n" + table(("code", "meaning"), [(code(one), said) for one, said in _EXIT_CODES]),
    ]
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            parts.append(_section(f"noisegate {name}", command))
            continue
        parts += [_section(f"noisegate {name} {below}", inner[below]) for below in inner]
    return page("Commands", "\n\n".join(parts))


def _section(name: str, command: Any, /) -> str:
    text = [f"## {name}", *_paragraphs(command.help), *_paragraphs(command.epilog)]
    shown = [one for one in command.params if not one.hidden and one.name != "help"]
    arguments = [one for one in shown if not one.opts[0].startswith("-")]
    options = [one for one in shown if one.opts[0].startswith("-")]
    usage = [name, *(f"[{one.metavar}]" if not one.required else one.metavar for one in arguments)]
    text.append(code(" ".join([*usage, "[OPTIONS]"]) if options else " ".join(usage)))
    if arguments:
        text.append(
            table(("argument", "meaning"), [(code(one.metavar), plain(one.help)) for one in arguments])
        )
    if options:
        text.append(table(("option", "value", "default", "meaning"), [_option(one) for one in options]))
    return "\n\n".join(text)


def _paragraphs(text: str | None, /) -> list[str]:
    """Paragraphs on one line each; what follows `noisegate` in an example is set as code."""
    found = [" ".join(part.split()) for part in (text or "").split("\n\n")]
    return [_example(part) for part in found if part]


def _example(paragraph: str, /) -> str:
    before, colon, command = paragraph.partition(": noisegate ")
    if colon and "`" not in paragraph:
        return f"{before}:\n\n    noisegate {command}"
    return paragraph.replace("- `", "\n- `").strip()


def _option(one: Any, /) -> tuple[str, str, str, str]:
    names = " / ".join(code(name) for name in (*one.opts, *one.secondary_opts))
    return names, _value(one), _default(one), plain(one.help) + ("" if not one.multiple else _again(one.help))


def _again(said: str, /) -> str:
    return "" if "again" in said else " May be given again."


def _value(one: Any, /) -> str:
    if one.is_flag:
        return ""
    if one.metavar:
        return code(one.metavar)
    kinds = get_args(one.type_descriptor.annotation) or (one.type_descriptor.annotation,)
    return next((_KINDS[kind] for kind in kinds if kind in _KINDS), "date" if one.name == "start" else "text")


def _default(one: Any, /) -> str:
    if one.required:
        return "required"
    if one.is_flag:
        return code((one.opts if one.default else one.secondary_opts)[0]) if one.secondary_opts else ""
    return "" if one.default is None else code(str(one.default))
