"""Loops compiled to machine code, without the global lock, kept on disk between runs.

Loops compiled to machine code, without the global lock, kept on disk between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T], /) -> Callable[P, T]:
    """`function` as machine code; a division by zero gives infinity, as in NumPy."""
    return cast("Callable[P, T]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
