"""Guards against ordinary mistakes: a spec that names nobody, one that counts next to nothing, the same people under two names.

Those that look at raw events ask, or refuse where nobody can answer; they say so, and with `yes` they are off, so that whether a
scheduled release succeeds is a function of its spec alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noisegate.engine import SlicedCounts, Tally
from noisegate.errors import GateError, SpecError
from noisegate.ledger import SIMULATED, UNITS, Binding, Ledger, open_ledger
from noisegate.releases.plan import Plan
from noisegate.spec import ReleaseSpec

#: The least share of the events that a release counts without a question.
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeGuard:
    """Who is asked when something is probably a mistake: nobody with `yes`; else `confirm`, and without it the answer is no."""

    yes: bool = False
    confirm: Callable[[str], bool] | None = None

    def ask(self, problem: str, /, *, way_out: str) -> None:
        """Refuse unless somebody says yes."""
        if self.yes or (self.confirm is not None and self.confirm(f"{problem} Release all the same?")):
            return
        raise GateError(f"{problem} Nothing was spent. {way_out}")

    def few_counted(self, plan: Plan, counts: SlicedCounts, /) -> None:
        """Ask before a release that counts less than half of its events."""
        tally = counts.tally
        events = tally.events - _of_other_weeks(plan, tally)
        if self.yes or (events and tally.counted >= _LEAST_SHARE * events):
            return
        some = "fewer than half of" if tally.counted else "none of"
        reasons = [*tally.outside, *_bounded_away(plan, counts)]
        because = f" ({'; '.join(reasons)})" if reasons else ""
        self.ask(
            f"The release would count {some} the events{because}. This guard has looked at the raw events.",
            way_out="See 'noisegate release SPEC.yaml --check' for what becomes of them, compare the values, dates, columns and bounds of "
            "the spec with the events, or release all the same with --yes.",
        )


def _of_other_weeks(plan: Plan, tally: Tally, /) -> int:
    """How many events a series leaves to its other weeks."""
    if plan.spec.series is None:
        return 0
    dates, _ = plan.spec.series.dates(plan.spec.dimensions)
    return sum(many for reason, many in tally.outside.items() if reason == f"{dates} is not in the list")


def _bounded_away(plan: Plan, counts: SlicedCounts, /) -> list[str]:
    bound = plan.spec.privacy.contribution
    found = []
    if counts.tally.beyond:
        found.append(f"beyond max_cells: {bound.cells}")
    if counts.tally.repeated:
        found.append(f"beyond max_per_cell: {bound.per_cell}")
    return found


def account_name(spec: ReleaseSpec, /, *, ledger: str | Path | None, simulated: bool) -> str:
    """The population that pays; refuses a spec that names none, or another spelling of one that the ledger knows."""
    if spec.account is None and simulated:
        return SIMULATED
    if spec.account == SIMULATED:
        raise SpecError(
            f"population is {SIMULATED!r}, which is kept for releases with repeatable noise; choose another name."
        )
    with open_ledger(ledger, read_only=True) as book:
        known = book.populations()
    if spec.account is None:
        names = [name for name in known if name != SIMULATED and not _is_former(name)]
        listed = f"this ledger knows {', '.join(names[:10])}" if names else "this ledger knows none yet"
        raise SpecError(
            "population is missing: name the people whose budget is spent, such as 'population: opal-cards', the same in every release "
            f"about them; {listed}. See 'noisegate ledger show'."
        )
    if spec.account not in known:
        for name in known:
            if _spelling(name) == _spelling(spec.account):
                raise SpecError(
                    f"population is {spec.account!r}, which the ledger does not know, but it knows {name!r}: write it like that if these "
                    "are the same people, or give them a name that differs in more than its spelling."
                )
    return spec.account


def _spelling(name: str, /) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def former_accounts(spec: ReleaseSpec, book: Ledger, /) -> tuple[str, ...]:
    """Accounts of an older version, which were named after a place and a unit, that were about the same events."""
    source = spec.events.source
    place = source if "://" in source else str((spec.folder / source).resolve())
    names = {f"{place} by {unit}" for unit in UNITS}
    return tuple(sorted(names.intersection(book.populations())))


def _is_former(name: str, /) -> bool:
    return name.endswith(tuple(f" by {unit}" for unit in UNITS))


def refuse_other_people(
    book: Ledger,
    population: str,
    bindings: Sequence[Binding],
    /,
    *,
    guard: MistakeGuard,
    say: Callable[[str], None],
) -> None:
    """Ask before events that another population was charged for; say that a known file has other content now."""
    for one in bindings:
        if book.has_other_content(population, one.name, one.digest):
            say(
                f"{Path(one.name).name} has other content than when it was last released for population {population!r}: fine if these are "
                "new events of the same people."
            )
    others = book.bound_to([one.digest for one in bindings if one.digest is not None])
    if (
        population in others or population == SIMULATED
    ):  # somebody has said yes before, or nobody is protected
        return
    for name in sorted(others - {SIMULATED}):
        problem = f"The same events were released before for population {name!r}, and now for {population!r}."
        if guard.yes:
            say(
                f"{problem} If these are the same people, their losses add up and the ledger does not see it."
            )
        guard.ask(
            problem,
            way_out=f"Write 'population: {name}' if these are the same people, or release all the same with --yes.",
        )
