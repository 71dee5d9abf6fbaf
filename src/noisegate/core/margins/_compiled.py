"""Numba with its types kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T], /) -> Callable[P, T]:
    """`function`, compiled when first called; the machine code is kept beside the module."""
    return cast("Callable[P, T]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
