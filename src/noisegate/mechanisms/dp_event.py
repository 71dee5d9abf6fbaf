"""A mechanism in the words of dp_accounting, which describes an event once and lets accountants plug in."""

from __future__ import annotations

from typing import Any

from noisegate.errors import SpecError
from noisegate.laws import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from noisegate.mechanisms.mechanism import Mechanism


def dp_event_of(mechanism: Mechanism, /, *, change: int = 1, cells: int = 1) -> Any:
    """The event of a person who changes `cells` cells by `change` each; `Mechanism.to_dp_event` explains it."""
    for name, value in (("change", change), ("cells", cells)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SpecError.for_value(name, found=value, allowed="a whole number of at least 1")
    try:
        from dp_accounting import dp_event  # type: ignore[import-untyped]
    except ImportError:
        raise SpecError("to_dp_event needs the package dp-accounting; install it with pip.") from None
    one = _event(mechanism, change, dp_event)
    return one if cells == 1 else dp_event.SelfComposedDpEvent(one, cells)


def _event(mechanism: Mechanism, change: int, dp_event: Any, /) -> Any:
    """The event of one cell; rounding a continuous law is post-processing too."""
    law = mechanism.law
    if mechanism.keeps_zeros or mechanism.bounded:
        return dp_event.NonPrivateDpEvent()
    if isinstance(law, Laplace):
        return dp_event.LaplaceDpEvent(law.scale / change)
    if isinstance(law, Gaussian):
        return dp_event.GaussianDpEvent(law.scale / change)
    if isinstance(law, DiscreteLaplace):
        return dp_event.DiscreteLaplaceDpEvent(1 / law.scale, change)
    if isinstance(law, DiscreteGaussian):
        return dp_event.ZCDpEvent(change**2 / (2 * law.scale**2))
    return dp_event.UnsupportedDpEvent()
