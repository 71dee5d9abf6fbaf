"""One sentence for whatever is wrong with a spec."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from noisegate.errors import InputError, SpecError
from noisegate.spec.dimensions import KINDS
from noisegate.spec.document import Document, Place, dotted

#: What is wrong, for the kinds of error that do not bring a phrase of their own.
_PHRASES = {
    "missing": "is missing",
    "no_kind": "must have values (a list or a CSV file), every (a time span), or from and to (dates)",
    "dict_type": "must be a block of keys",
    "tuple_type": "must be a list",
}


def explain(error: ValidationError, /, *, document: Document) -> SpecError:
    """The first thing that is wrong, with its place, and how many more there are."""
    found = sorted(error.errors(include_url=False), key=lambda e: document.line(_place(e)) or 0)
    first = found[0]
    more = len(found) - 1 + sum(int(e.get("ctx", {}).get("more", 0)) for e in found)
    place = _place(first)
    line = document.line(place)
    where = f"{document.name}, line {line}: " if line else f"{document.name}: "
    tail = f" ({more} more {'error' if more == 1 else 'errors'} after this one)" if more else ""
    sentence = _sentence(first, place)
    return SpecError(
        f"{where}{sentence.rstrip('.')}{tail}{'' if not tail and sentence.endswith('?') else '.'}"
    )


def _place(error: ErrorDetails, /) -> Place:
    """The place in the file: without the tags of a union, and as deep as the refusal says."""
    loc = error["loc"]
    kept = [part for n, part in enumerate(loc) if not (n == 2 and loc[0] == "dimensions" and part in KINDS)]
    return (*(part for part in kept if part != "[key]"), *error.get("ctx", {}).get("at", ()))


def _sentence(error: ErrorDetails, place: Place, /) -> str:
    subject = dotted(place) or "the spec"
    context = error.get("ctx", {})
    if error["type"] == "refused":
        return f"{subject} {context['phrase']}"
    if isinstance(context.get("error"), InputError):
        return str(context["error"])
    return f"{subject} {_PHRASES.get(error['type'], 'has a value that cannot be used here')}"
