"""Whether somebody has asked the program to stop, even if what was raised then got lost.

Python raises `KeyboardInterrupt` wherever it happens to be, also where whatever is raised is dropped: in a finaliser, or in the callback of a weak
reference, with which every import ends. Nobody would hear of it, and a release that somebody has stopped would be made. So the program
remembers that it was asked, and whoever is about to do what cannot be undone looks once more.
"""

from __future__ import annotations

_ASKED: list[int] = []


def remember(signal: int, /) -> None:
    """Note that a signal asked the program to stop."""
    _ASKED.append(signal)


def asked() -> int | None:
    """The first signal that asked the program to stop, if any."""
    return _ASKED[0] if _ASKED else None


def heed() -> None:
    """Stop now if that was asked for before.

    Raises
    ------
    KeyboardInterrupt
        As if the signal came only now.
    """
    if _ASKED:
        raise KeyboardInterrupt
