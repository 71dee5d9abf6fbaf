"""Findings as SARIF 2.1.0, which code hosts and pipelines show beside the files they are about."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final
from urllib.parse import quote

from noisegate.assessment import Assessment, Finding, words_of

VERSION: Final = "2.1.0"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"high": "error", "medium": "warning", "low": "note"}
#: Lines of evidence in a message.
_LINES = 5


def as_sarif(assessment: Assessment, /) -> dict[str, Any]:
    """The findings of an assessment as a SARIF log: a rule for each kind, a result for each finding.

    A finding is about the files that were read; it has no line, since it is about counts in many rows.
    """
    kinds = list(dict.fromkeys(one.id for one in assessment.findings))
    files = _files(assessment)
    return {
        "$schema": _SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "noisegate",
                        "version": metadata.version("noisegate"),
                        "rules": [_rule(kind, assessment) for kind in kinds],
                    }
                },
                "artifacts": [{"location": {"uri": quote(name)}} for name in files],
                "results": [_result(one, kinds, files) for one in assessment.findings],
                "properties": {"notExamined": dict(assessment.not_examined)},
            }
        ],
    }


def _files(assessment: Assessment, /) -> list[str]:
    sources = [table for one in assessment.structure.every for table in one.sources]
    return list(dict.fromkeys(file.name for table in sources for file in table.files))


def _rule(kind: str, assessment: Assessment, /) -> dict[str, Any]:
    words = words_of(kind, next(one.title for one in assessment.findings if one.id == kind))
    return {
        "id": kind,
        "shortDescription": {"text": words.says},
        "fullDescription": {"text": words.meaning or words.says},
        "help": {"text": words.method or words.says},
    }


def _result(finding: Finding, kinds: list[str], files: list[str], /) -> dict[str, Any]:
    lines = [finding.title, *finding.evidence[:_LINES], finding.comparison, f"Advice: {finding.advice}"]
    return {
        "ruleId": finding.id,
        "ruleIndex": kinds.index(finding.id),
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(line for line in lines if line)},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": quote(name), "index": k}}}
            for k, name in enumerate(files)
        ],
        "properties": {"severity": finding.severity, "assumptions": list(finding.assumptions)},
    }
