"""Findings as SARIF: a rule for each kind, a result for each finding, the level by severity."""

import json

import numpy as np

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
