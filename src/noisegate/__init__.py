"""noisegate: make private count releases properly, and take published count tables apart.

The names below are the public interface; everything else may change. They are loaded when
first used, so that importing the package costs nothing.

The custodian: `check`, `plan`, `release`, `open_ledger`. The assessor: `read_tables`, `recover`, `infer`, `assess`,
`mechanism`. The analyst: `open_release`, `open_tables`. For trying things out: `simulate`, `reproduce`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Answers": "query",
    "BudgetExceeded": "errors",
    "Card": "tables.card",
    "Check": "assessment.finding",
    "Contribution": "mechanisms.composition",
    "DataError": "errors",
    "Dimension": "tables.domain",
    "Domain": "tables.domain",
    "DrawnTables": "query",
    "EventCheck": "api.releasing",
    "Finding": "assessment.finding",
    "Inference": "assessment.inference",
    "Item": "reproduction",
    "Mechanism": "mechanisms.mechanism",
    "MechanismFacts": "api.mechanism",
    "Noise": "recovery.makers",
    "NoisegateError": "errors",
    "OpenAssessment": "api.assessing",
    "OpenRelease": "query",
    "OpenTables": "api.asking",
    "OsNoise": "laws.entropy",
    "Outlook": "workload",
    "OutputError": "errors",
    "Question": "tables.question",
    "ReleaseSpec": "spec",
    "SeededNoise": "laws.entropy",
    "SeriesStrategy": "margins.series",
    "Slivers": "assessment.differencing",
    "SpecError": "errors",
    "Structure": "reading.structure",
    "Table": "tables.table",
    "TableSets": "inference",
    "World": "simulation",
    "assess": "api.assessing",
    "certainty": "mechanisms.best_test",
    "check": "api.releasing",
    "composed_delta": "mechanisms.composition",
    "composed_epsilon": "mechanisms.composition",
    "corrected": "mechanisms.mechanism",
    "delta": "mechanisms.privacy",
    "detection": "mechanisms.privacy",
    "epsilon": "mechanisms.privacy",
    "find_slivers": "api.assessing",
    "find_table_sets": "api.assessing",
    "infer": "api.assessing",
    "load_spec": "spec",
    "make_law": "laws",
    "mechanism": "api.mechanism",
    "open_ledger": "ledger",
    "open_release": "query",
    "open_tables": "api.asking",
    "plan": "api.releasing",
    "plan_series": "margins.series",
    "read_spec": "api.releasing",
    "read_tables": "api.assessing",
    "recover": "api.assessing",
    "release": "api.releasing",
    "reproduce": "api.inventing",
    "second_algorithm": "mechanisms.mechanism",
    "simulate": "api.inventing",
    "stability_histogram": "mechanisms.mechanism",
    "summarise": "reading.summary",
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
