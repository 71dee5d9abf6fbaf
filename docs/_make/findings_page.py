"""Ids of findings and checks, read from the code that makes them."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown import code, page, table

import noisegate
from noisegate.assessment import INQUIRIES, Words

_SEVERITIES = ("low", "medium", "high")
_OUTCOMES = ("fine", "cannot tell", "known", "refused")


def findings_page() -> str:
    """`findings.md`: every id, what it can be, and how it is worked out."""
    words = {kind: words for one in INQUIRIES for kind, words in one.WORDS.items()}
    findings, checks = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    made = sorted(_made(), key=lambda one: one[1] == ".+")
    named = {name for _, name, _ in made}
    for kind, name, said in made:
        into = findings if kind == "Finding" else checks
        # An id that is put together stands for all ids like it that nothing else makes.
        like = (
            [one for one in words if re.fullmatch(name, one) and one not in {*named, *findings, *checks}]
            if ".+" in name
            else [name]
        )
        for one in like:
            into[one].update(said)
    unknown = sorted({*findings, *checks} - set(words))
    if unknown:
        raise SystemExit(f"no words in the modules of noisegate.assessment: {', '.join(unknown)}.")
    parts = [
        (
            "A *finding* is something to act on. *Low* is worth knowing, *medium* weakens the protection, *high* means that the "
            "protection is not what it seems; `--fail-on` turns these into an exit code. A *check* was looked at and gives no "
            "reason to act. Ids do not change between versions. What the severities depend on is in "
            "[What assess does](../explanation/assessment.md)."
        ),
        "## Findings\n\n" + _table("severity", findings, _SEVERITIES, words),
        "## Checks\n\n" + _table("outcome", checks, _OUTCOMES, words),
        "## How findings are worked out",
        *(
            f"### {name}\n\n{words[name].method}"
            for name in sorted({*findings, *checks})
            if words[name].method
        ),
    ]
    return page("Findings and checks", "\n\n".join(parts))


def _table(
    head: str, found: Mapping[str, set[str]], order: tuple[str, ...], words: Mapping[str, Words], /
) -> str:
    rows = [
        (
            code(name),
            ", ".join(one for one in order if one in found[name]) or "by its numbers",
            words[name].says,
        )
        for name in sorted(found)
    ]
    return table(("id", head, "what it says"), rows)


def _made() -> Iterator[tuple[str, str, set[str]]]:
    """Every `Finding(id=..., severity=...)` and `Check(id=..., outcome=...)` that the assessment can make."""
    for path in sorted((Path(noisegate.__file__).parent / "assessment").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    given = {one.arg: one.value for one in node.keywords}
                    name = given.get("id")
                    if node.func.id in {"Finding", "Check"} and isinstance(name, ast.Constant):
                        said = given.get("severity", given.get("outcome"))
                        yield node.func.id, str(name.value), set(_words(said, function))
                    elif (
                        node.func.id in {"Finding", "Check"}
                        and isinstance(name, ast.JoinedStr | ast.Attribute)
                        and ast.unparse(name) != "first.id"
                    ):
                        said = given.get("severity", given.get("outcome"))
                        parts = (
                            re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".+"
                            for one in getattr(name, "values", (name,))
                        )
                        yield node.func.id, "".join(parts), set(_words(said, function))
                    elif node.func.id in _makers(tree) and node.args:
                        # A function that makes findings of a kind that it is told.
                        kinds = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
                        said = given.get("most", given.get("severity"))
                        yield "Finding", kinds[0], set(_up_to(set(_words(said, function))))


def _makers(tree: ast.Module, /) -> set[str]:
    """Functions of a module that make a finding whose id is one of their parameters."""
    found = set()
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        named = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                kinds = (one.value for one in node.keywords if one.arg == "id")
                found |= {function.name for one in kinds if isinstance(one, ast.Name) and one.id in named}
    return found


def _up_to(most: set[str], /) -> Iterator[str]:
    """The severities that a finding of at most this one can have: a single count, or what is conditional, weighs less."""
    for one in most:
        yield from ("medium", "high") if one == "high" else (one,)


def _words(said: ast.expr | None, function: ast.FunctionDef, /) -> Iterator[str]:
    """Severities and outcomes that an expression can be; those of a variable are what its function assigns."""
    if isinstance(said, ast.Name):
        for node in ast.walk(function):
            targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
            if isinstance(node, ast.Assign | ast.AnnAssign) and said.id in {
                getattr(one, "id", "") for one in targets
            }:
                yield from _words(node.value, function)
        return
    for one in ast.walk(said) if said is not None else ():
        if isinstance(one, ast.Constant) and one.value in (*_SEVERITIES, *_OUTCOMES):
            yield str(one.value)
