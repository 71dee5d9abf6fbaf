"""The words of a report."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("event, person", "One raw record (a tap), and whoever is behind many of them (a card)."),
    (
        "cell, table, base, margin",
        "A cell is one combination of dimensions, a table counts over some of them. The base is the finest table, a margin a coarser one.",
    ),
    ("suppressed", "Not published because the value was too small. It is not the same as empty."),
    (
        "identity",
        "An equation that holds among raw counts: a total is the sum of its parts, those who board a ferry without stops leave it.",
    ),
    ("scale", "How wide the noise is. Laplace noise of scale b is off by b on average."),
    (
        "epsilon (ε)",
        "How much one event or person can change what is published: by a factor of e to the epsilon at most. Smaller is more private.",
    ),
    ("delta (δ)", "The chance that this promise does not hold. With 0, it always does."),
    ("interval", "The raw value lies inside with the stated probability, if the assumptions listed hold."),
    (
        "severity",
        "Low: worth knowing. Medium: weakens the protection. High: the protection is not what it seems.",
    ),
)
