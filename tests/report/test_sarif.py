"""Findings as SARIF: a rule for each kind, a result for each finding, the level by severity."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import noisegate
from noisegate.report import as_sarif


def test_findings_become_results(tmp_path):
    rng = np.random.default_rng(1)
    old = rng.poisson(20, (30, 4))
    new = old.copy()
    new[3, 2] += 1
    for name, counts in (("old", old), ("new", new)):
        rows = "".join(f"a{i},b{j},{n}\n" for (i, j), n in np.ndenumerate(counts))
        (tmp_path / f"{name}.csv").write_text("area,band,count\n" + rows)
    found = noisegate.assess(tmp_path / "new.csv", against=[tmp_path / "old.csv"], attacker=None)
    log = json.loads(json.dumps(as_sarif(found), allow_nan=False))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["name"] == "noisegate"
    assert len(run["results"]) == len(found.findings)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result, finding in zip(run["results"], found.findings, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding.id
        assert result["level"] == {"high": "error", "medium": "warning", "low": "note"}[finding.severity]
        assert finding.title in result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "new.csv"
    (sliver,) = [one for one in run["results"] if one["ruleId"] == "slivers"]
    assert sliver["level"] == "error"


def test_the_log_is_valid_against_the_schema_of_oasis(tmp_path):
    """The schema may not be copied into this repository; NOISEGATE_SARIF_SCHEMA names one's own copy."""
    schema = os.environ.get("NOISEGATE_SARIF_SCHEMA", "")
    if not schema:
        pytest.skip("NOISEGATE_SARIF_SCHEMA names no copy of sarif-schema-2.1.0.json")
    jsonschema = pytest.importorskip("jsonschema")
    content = json.loads(Path(schema).read_text())
    validator = jsonschema.validators.validator_for(content)(content)
    (tmp_path / "two words.csv").write_text(
        "area,sex,count\nA,m,5\nA,f,7\nA,total,12\nB,m,1\nB,f,..\nB,total,3\n"
    )
    found = noisegate.assess(tmp_path / "two words.csv")
    assert found.findings
    log = json.loads(json.dumps(as_sarif(found)))
    assert not list(validator.iter_errors(log))
    assert log["runs"][0]["artifacts"][0]["location"]["uri"] == "two%20words.csv"
    del log["runs"][0]["tool"]
    assert list(validator.iter_errors(log))
