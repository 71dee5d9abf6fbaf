"""The public names, read from `noisegate.__all__`."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import inspect
from typing import Any

from markdown import code, page, plain

import noisegate


def python_page() -> str:
    """`python.md`: every public name with its signature and first sentence."""
    parts = [
        "`import noisegate` costs nothing; a name is loaded when it is first used. Everything else may change."
    ]
    for name in noisegate.__all__:
        thing = getattr(noisegate, name)
        said = plain((inspect.getdoc(thing) or "").split("\n\n")[0])
        parts.append(f"## {name}\n\n{code(f'{name}{_signature(thing)}')}\n\n{said}")
    return page("Python", "\n\n".join(parts))


def _signature(thing: Any, /) -> str:
    """The parameters without types, which the docstrings explain."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:
        return ""
    bare = [one.replace(annotation=one.empty, default=_default(one.default)) for one in parameters]
    return str(inspect.Signature(bare))


def _default(value: Any, /) -> Any:
    """A default as it reads in a signature; functions have no text of their own."""
    return _Function() if callable(value) and value is not inspect.Parameter.empty else value


class _Function:
    def __repr__(self) -> str:
        return "..."
