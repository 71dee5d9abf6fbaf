"""Loops compiled to machine code, without the global lock, kept on disk between runs.

Numba is loaded when a compiled function is first called, not when its module is imported: it costs more than all the rest
of a command that never runs a loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import update_wrapper
from importlib import import_module
from threading import RLock
from types import CodeType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

#: Held while functions are made ready, since parts of a problem are solved in threads.
_LOCK = RLock()


#: Whether whoever runs the process wants no linear algebra in its loops.
_SPARED: list[bool] = []


def spare_linear_algebra() -> None:
    """Let loops be loaded without SciPy's linear algebra, which Numba loads to see whether it is there: a fifth of a second.

    For a program that has the process to itself, and whose loops multiply no matrices.
    """
    _SPARED.append(True)


def _numba() -> Any:
    """Numba, loaded."""
    import numba

    asked = "scipy.linalg.cython_blas"
    if _SPARED and not {"numba.np.arraymath", asked} & set(sys.modules):
        sys.modules[asked] = None  # type: ignore[assignment]
        try:
            import_module("numba.np.arraymath")
        finally:
            del sys.modules[asked]
    return numba


def compiled(function: Callable[P, T], /) -> Callable[P, T]:
    """`function` as machine code; a division by zero gives infinity, as in NumPy.

    It may call other compiled functions, of its own module or imported by name into it.
    """
    return _Deferred(function)


class _Deferred(Generic[P, T]):
    """Stands for a function until it is first called, then for its compiled form.

    The first call puts the compiled form in place of this into every module that has it under its name, and likewise
    whatever the function calls: Numba looks up called functions among the globals of the caller, and further calls
    cost what they cost without this.
    """

    def __init__(self, function: Callable[P, T], /) -> None:
        self._function: Any = function
        self._ready: Callable[P, T] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        ready = self._ready
        return (self._resolved() if ready is None else ready)(*args, **kwargs)

    def _resolved(self) -> Callable[P, T]:
        with _LOCK:
            if self._ready is None:
                _make_ready(self, {})
            return cast("Callable[P, T]", self._ready)


def _make_ready(deferred: _Deferred[..., Any], begun: dict[int, Any], /) -> Any:
    """The compiled form of `deferred`, in place only once all that it calls is; `begun` ends circles of calls."""
    if deferred._ready is not None:  # noqa: SLF001 - the other half of the class
        return deferred._ready  # noqa: SLF001
    if id(deferred) in begun:
        return begun[id(deferred)]
    function = deferred._function  # noqa: SLF001
    form = begun[id(deferred)] = _numba().njit(cache=True, nogil=True, error_model="numpy")(function)
    home = function.__globals__
    for name in _names(function.__code__):
        called = home.get(name)
        if isinstance(called, _Deferred) and called is not deferred:
            home[name] = _make_ready(called, begun)
    for names in (home, *(getattr(module, "__dict__", {}) for module in tuple(sys.modules.values()))):
        if names.get(function.__name__) is deferred:
            names[function.__name__] = form
    deferred._ready = form  # noqa: SLF001
    return form


def _names(code: CodeType, /) -> Iterator[str]:
    """The global names that `code` mentions, also in functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
