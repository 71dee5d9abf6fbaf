"""The public names, read from `noisegate.__all__`, by who uses them."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import inspect
import re
from typing import Any

from markdown import code, page, plain

import noisegate

_GROUPS = {
    "For the custodian": (
        "read_spec", "load_spec", "check", "plan", "plan_series", "release", "open_ledger", "stability_histogram", "OsNoise", "SeededNoise",
    ),
    "For the assessor": ("read_tables", "summarise", "recover", "infer", "assess", "find_slivers", "find_table_sets", "mechanism"),
    "For the analyst": ("open_release", "open_tables"),
    "For trying things out": ("simulate", "reproduce"),
    "One published count": (
        "Mechanism", "make_law", "second_algorithm", "corrected", "detection", "delta", "epsilon", "Contribution",
        "certainty", "composed_delta", "composed_epsilon",
    ),
    "What they give": (
        "OpenRelease", "OpenTables", "Answers", "DrawnTables", "Outlook", "SeriesStrategy", "EventCheck", "OpenAssessment", "Finding", "Check", "Inference", "Noise",
        "Structure", "MechanismFacts", "Slivers", "TableSets", "World", "Item",
    ),
    "What they speak about": ("ReleaseSpec", "Card", "Domain", "Dimension", "Table", "Question"),
    "Errors": ("NoisegateError", "SpecError", "DataError", "OutputError", "BudgetExceeded"),
}  # fmt: skip


def python_page() -> str:
    """`python.md`: every public name with its signature, first paragraph and example, by who uses it."""
    listed = [name for names in _GROUPS.values() for name in names]
    if sorted(listed) != sorted(noisegate.__all__):
        odd = sorted(set(listed) ^ set(noisegate.__all__))
        raise SystemExit(f"in docs/_make/python_page.py or in __all__, but not in both: {', '.join(odd)}.")
    parts = [
        (
            "`import noisegate` costs nothing; a name is loaded when it is first used. Two modules are public as well: "
            "`noisegate.limits` ([how much is held](limits.md)) and `noisegate.testing` (worlds with known truth, slow oracles). "
            "Everything else may change. [Python](../how-to/use-from-python.md) shows how the names go together."
        )
    ]
    for title, names in _GROUPS.items():
        parts += [f"## {title}", *(_entry(name) for name in names)]
    return page("Python", "\n\n".join(parts))


def _entry(name: str, /) -> str:
    """One name: signature, first paragraph, example."""
    thing = getattr(noisegate, name)
    text = inspect.getdoc(thing) or ""
    lines = [f"### {name}", code(f"{name}{_signature(thing)}"), plain(text.split("\n\n")[0])]
    members = _members(thing)
    if members:
        lines.append("Has " + ", ".join(code(member) for member in members) + ".")
    example = re.search(r"Examples\n-+\n(.*?)(?:\n\n[A-Z]\w+\n---|\Z)", text, re.DOTALL)
    if example:
        lines.append(f"```pycon\n{example.group(1).strip()}\n```")
    return "\n\n".join(lines)


def _members(thing: Any, /) -> list[str]:
    """What a class has: fields, properties and methods; errors have a message only."""
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return []
    fields = getattr(thing, "__dataclass_fields__", {})
    found = {name for name in dir(thing) if not name.startswith("_")} | set(fields)
    return sorted(name for name in found if not name.startswith("_"))


def _signature(thing: Any, /) -> str:
    """The parameters without types, which the docstrings explain; types that are given, not made, have none."""
    if inspect.isclass(thing) and thing.__name__ not in _MADE:
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:
        return ""
    bare = [one.replace(annotation=one.empty, default=_default(one.default)) for one in parameters]
    return str(inspect.Signature(bare))


#: Classes that a user makes; the others are handed out.
_MADE = {"Contribution", "Mechanism", "OsNoise", "Question", "SeededNoise", "Dimension"}


def _default(value: Any, /) -> Any:
    """A default as it reads in a signature; functions have no text of their own."""
    return _Function() if callable(value) and value is not inspect.Parameter.empty else value


class _Function:
    def __repr__(self) -> str:
        return "..."
