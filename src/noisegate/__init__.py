"""noisegate: make private count releases properly, and take published count tables apart.

The names below are the public interface; everything else may change. They are loaded when
first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Contribution": "noisegate.core.composition",
    "Mechanism": "noisegate.core.mechanism",
    "NoisegateError": "noisegate.errors",
    "OsNoise": "noisegate.entropy",
    "composed_delta": "noisegate.core.composition",
    "composed_epsilon": "noisegate.core.composition",
    "corrected": "noisegate.core.mechanism",
    "delta": "noisegate.core.privacy",
    "detection": "noisegate.core.privacy",
    "epsilon": "noisegate.core.privacy",
    "load_spec": "noisegate.spec",
    "make_law": "noisegate.core.laws",
    "open_ledger": "noisegate.ledger",
    "open_release": "noisegate.query",
    "second_algorithm": "noisegate.core.mechanism",
    "stability_histogram": "noisegate.core.mechanism",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the names are the keys above


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'noisegate' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
