"""noisegate: make private count releases properly, and take published count tables apart.

The names below are the public interface; everything else may change. They are loaded when
first used, so that importing the package costs nothing.

The custodian: `check`, `plan`, `release`, `open_ledger`. The assessor: `read_tables`, `recover`, `infer`, `assess`,
`mechanism`. The analyst: `open_release`. For trying things out: `simulate`, `reproduce`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Answers": "query",
    "BudgetExceeded": "errors",
    "Contribution": "mechanisms.composition",
    "DataError": "errors",
    "EventCheck": "api",
    "Mechanism": "mechanisms.mechanism",
    "MechanismFacts": "api",
    "NoisegateError": "errors",
    "OpenRelease": "query",
    "OsNoise": "laws.entropy",
    "Outlook": "workload",
    "OutputError": "errors",
    "ReleaseSpec": "spec",
    "SeededNoise": "laws.entropy",
    "SpecError": "errors",
    "World": "simulation",
    "check": "api",
    "composed_delta": "mechanisms.composition",
    "composed_epsilon": "mechanisms.composition",
    "corrected": "mechanisms.mechanism",
    "delta": "mechanisms.privacy",
    "detection": "mechanisms.privacy",
    "epsilon": "mechanisms.privacy",
    "load_spec": "spec",
    "make_law": "laws",
    "mechanism": "api",
    "open_ledger": "ledger",
    "open_release": "query",
    "plan": "api",
    "read_spec": "api",
    "release": "api",
    "reproduce": "api",
    "second_algorithm": "mechanisms.mechanism",
    "simulate": "api",
    "stability_histogram": "mechanisms.mechanism",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the names are the keys above


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("noisegate")
    if name not in _HOME:
        raise AttributeError(f"module 'noisegate' has no attribute {name!r}")
    return getattr(import_module(f"noisegate.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
