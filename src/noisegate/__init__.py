"""noisegate: make private count releases properly, and take published count tables apart.

The names below are the public interface; everything else may change. They are loaded when
first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Contribution": "noisegate.mechanisms.composition",
    "Mechanism": "noisegate.mechanisms.mechanism",
    "NoisegateError": "noisegate.errors",
    "OsNoise": "noisegate.laws.entropy",
    "composed_delta": "noisegate.mechanisms.composition",
    "composed_epsilon": "noisegate.mechanisms.composition",
    "corrected": "noisegate.mechanisms.mechanism",
    "delta": "noisegate.mechanisms.privacy",
    "detection": "noisegate.mechanisms.privacy",
    "epsilon": "noisegate.mechanisms.privacy",
    "load_spec": "noisegate.spec",
    "make_law": "noisegate.laws",
    "open_ledger": "noisegate.ledger",
    "open_release": "noisegate.query",
    "second_algorithm": "noisegate.mechanisms.mechanism",
    "stability_histogram": "noisegate.mechanisms.mechanism",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the names are the keys above


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'noisegate' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
