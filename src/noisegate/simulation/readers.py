"""When cards are read: how long before a departure, how soon after an arrival, how late vehicles run.

Bounds are hard: a tap-on lies between `lead_max_s` before the timetabled departure and
`delay_max_s` after it, a tap-off between the timetabled arrival and `delay_max_s + exit_max_s`
after it (stragglers of the closed ferry: one quarter of an hour more). A reader of the
timetable can therefore choose a tolerance that is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noisegate.errors import SpecError
from noisegate.timetable import BUS, FERRY, LIGHTRAIL, NETWORK_MODES, TRAIN, Flags, Floats, Ints, Network

LINGER_S = 15 * 60
"""How much later stragglers alight."""

LINGER_SHARE = 0.05
"""Share of the riders of a sailing with stragglers who are stragglers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardReader:
    """Card readers of one kind of service; means are those before the bound cuts the tail."""

    lead_mean_s: float
    lead_max_s: float
    exit_max_s: float
    delay_mean_s: float
    delay_max_s: float


READERS = {
    TRAIN: CardReader(lead_mean_s=120, lead_max_s=420, exit_max_s=150, delay_mean_s=40, delay_max_s=240),
    BUS: CardReader(lead_mean_s=10, lead_max_s=30, exit_max_s=20, delay_mean_s=60, delay_max_s=300),
    FERRY: CardReader(lead_mean_s=120, lead_max_s=480, exit_max_s=120, delay_mean_s=40, delay_max_s=180),
    LIGHTRAIL: CardReader(lead_mean_s=60, lead_max_s=180, exit_max_s=60, delay_mean_s=30, delay_max_s=120),
}
CLOSED_READER = CardReader(lead_mean_s=180, lead_max_s=480, exit_max_s=180, delay_mean_s=20, delay_max_s=60)
CLOSED = len(NETWORK_MODES)
"""The number of the closed ferry's reader, after those of the modes."""

_ALL = (*(READERS[mode] for mode in range(len(NETWORK_MODES))), CLOSED_READER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How people and vehicles behave at the readers.

    Attributes
    ----------
    forget_rate
        Chance that a rider forgets to tap off, on every service without automatic tap-off.
    straggler_rate
        Share of closed-ferry sailings on which some alight a quarter of an hour late.
    punctual
        Vehicles run to the second and cards are read at timetabled times, with no stragglers.
    """

    forget_rate: float = 0.02
    straggler_rate: float = 0.01
    punctual: bool = False

    def __post_init__(self) -> None:
        for name, value in (("forget_rate", self.forget_rate), ("straggler_rate", self.straggler_rate)):
            if not 0 <= value <= 1:
                raise SpecError.for_value(name, found=value, allowed="from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How the vehicles of one service day ran."""

    delay_s: Ints
    lingering: Flags

    @classmethod
    def of(cls, kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Delays:
        """Delays of all trips, given the reader number of each."""
        lingering = (kind == CLOSED) & (rng.random(len(kind)) < conduct.straggler_rate)
        delay = _cut_exponential(_pick(kind, "delay_mean_s"), _pick(kind, "delay_max_s"), rng=rng)
        if conduct.punctual:
            return cls(delay_s=np.zeros(len(kind), dtype=np.int64), lingering=np.zeros(len(kind), dtype=bool))
        return cls(delay_s=delay, lingering=lingering)


def trip_readers(network: Network, /) -> Ints:
    """The reader number of every trip."""
    kind = np.where(network.pattern_closed(), CLOSED, network.pattern_modes())
    return kind[network.trips.pattern]


def lead_s(kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Ints:
    """How long before the departure each rider's card is read."""
    return _unless_punctual(
        conduct,
        len(kind),
        lambda: _cut_exponential(_pick(kind, "lead_mean_s"), _pick(kind, "lead_max_s"), rng=rng),
    )


def exit_s(kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Ints:
    """How long after the arrival each rider's card is read."""
    return _unless_punctual(
        conduct, len(kind), lambda: (rng.random(len(kind)) * _pick(kind, "exit_max_s")).astype(np.int64)
    )


def _unless_punctual(conduct: Conduct, count: int, draw: Callable[[], Ints]) -> Ints:
    return np.zeros(count, dtype=np.int64) if conduct.punctual else draw()


def _pick(kind: Ints, name: str) -> Floats:
    """One attribute of the reader of each number."""
    return np.array([getattr(reader, name) for reader in _ALL], dtype=np.float64)[kind]


def _cut_exponential(mean: Floats, bound: Floats, *, rng: np.random.Generator) -> Ints:
    """Whole seconds from an exponential law cut at `bound`."""
    inside = -np.expm1(-bound / mean)
    return (-mean * np.log1p(-inside * rng.random(len(mean)))).astype(np.int64)
