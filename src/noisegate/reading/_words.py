"""Values that are words with a meaning of their own: unknown, total."""

from __future__ import annotations

UNKNOWN_WORDS = frozenset(
    {
        "",
        "-",
        "?",
        "unknown",
        "unk",
        "n/a",
        "na",
        "nan",
        "null",
        "none",
        "missing",
        "not known",
        "not stated",
        "not specified",
        "unspecified",
        "undefined",
        "not applicable",
    }
)
#: Numbers that stand for "unknown" where nothing else is negative.
UNKNOWN_NUMBERS = frozenset({"-1", "-9", "-99", "-999", "-9999"})
TOTAL_WORDS = frozenset(
    {
        "total",
        "totals",
        "grand total",
        "subtotal",
        "all",
        "both",
        "both sexes",
        "overall",
        "persons",
        "any",
        "sum",
        "_t",
        "gesamt",
        "insgesamt",
        "ensemble",
        "totaal",
        "totale",
    }
)


def fold(text: str, /) -> str:
    """The text in one spelling: case and runs of blanks do not matter."""
    return " ".join(text.casefold().split())


def is_total(label: str, /) -> bool:
    """Whether a value is worded like a total over all others."""
    word = fold(label)
    return word in TOTAL_WORDS or word.startswith(("total ", "all ")) or word.endswith(" total")
