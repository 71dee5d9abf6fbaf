"""Every error that noisegate raises on purpose.

    NoisegateError
    ├── InputError (ValueError)      exit 2: what a person gave us cannot be used
    │   ├── SpecError                  a parameter, a spec, a command-line option
    │   ├── DataError                  a file or a table: missing, unreadable, not what it should be
    │   └── OutputError                a place that cannot be written
    ├── GateError                    exit 3: a gate said no
    │   ├── BudgetExceeded             the ledger holds too little
    │   └── FindingsAbove              an assessment found more than `--fail-on` allows
    ├── RandomnessError (TypeError)  exit 1: seeded and published randomness were mixed up
    └── InternalError (RuntimeError) exit 1: our bug; please report it

A message is one sentence or two: what, found, allowed, way out. It never holds a
raw count or the id of a person.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar, Self


class NoisegateError(Exception):
    """Base of all errors; `exit_code` is what the command line returns for it."""

    exit_code: ClassVar[int] = 1


class InputError(NoisegateError, ValueError):
    """Something a person gave us cannot be used as it is."""

    exit_code = 2


class SpecError(InputError):
    """A parameter, a release spec or an option is not allowed."""

    @classmethod
    def for_value(cls, name: str, *, found: object, allowed: str, way_out: str = "") -> Self:
        """Error for one parameter outside its range."""
        tail = f" {way_out}" if way_out else ""
        return cls(f"{name} must be {allowed}, got {found!r}.{tail}")

    @classmethod
    def for_choice(cls, name: str, *, found: object, allowed: Iterable[str]) -> Self:
        """Error for a word that is not one of a fixed list, with the nearest one."""
        choices = list(allowed)
        near = difflib.get_close_matches(str(found), choices, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"{name} must be one of {', '.join(choices)}, got {found!r}.{hint}")


class DataError(InputError):
    """A file or a table is missing, unreadable or not what it should be."""


class OutputError(InputError):
    """The place to write to cannot be used."""


class GateError(NoisegateError):
    """A gate that somebody asked for said no."""

    exit_code = 3

    @classmethod
    def for_week(cls, series: str, *, week: int, state: str, place: str) -> Self:
        """Error for a week of a series that was released, or is being released."""
        done = (
            "is released already"
            if state == "published"
            else "is being released, or was stopped on another machine"
        )
        way_out = (
            "Release another week"
            if state == "published"
            else "Wait, or run 'noisegate ledger check --settle' once it has ended"
        )
        return cls(
            f"Week {week} of series {series!r} {done}: {place}. Each week is measured once. {way_out}."
        )


class BudgetExceeded(GateError):  # noqa: N818 - the name says what happened
    """The ledger holds less than a release asks for."""

    @classmethod
    def for_request(cls, *, population: str, unit: str, asked: str, left: str) -> Self:
        """Error for a release that asks for more than is left."""
        return cls(
            f"The release asks for epsilon {asked} per {unit} of population {population!r}; the ledger holds {left}. "
            "Lower epsilon, or raise the budget with 'noisegate ledger set'."
        )


class FindingsAbove(GateError):  # noqa: N818 - the name says what happened
    """An assessment has findings at or above the severity that was asked to fail."""


class RandomnessError(NoisegateError, TypeError):
    """Seeded and published randomness were mixed up."""

    @classmethod
    def for_simulation(cls, found: object) -> Self:
        """Error for anything but a NumPy generator where a simulation draws."""
        return cls(f"a simulation draws from a numpy.random.Generator, got {type(found).__name__}")

    @classmethod
    def for_publication(cls, found: object) -> Self:
        """Error for anything but an entropy source where published noise is drawn."""
        return cls(f"published noise is drawn from an Entropy source, got {type(found).__name__}")


def is_interrupt(error: BaseException, /) -> bool:
    """Whether an error of an engine is what it makes of Ctrl-C."""
    return "interrupted" in str(error).lower()


class InternalError(NoisegateError, RuntimeError):
    """A bug of ours: it cannot happen unless the software is wrong."""
