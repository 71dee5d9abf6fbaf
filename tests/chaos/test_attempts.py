"""A few of the faults of `make chaos` in every run: what is in place was charged, is whole, and was charged once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "attempts.py"


def attempts(tmp_path, runs):
    words = [sys.executable, SCRIPT, "--runs", str(runs), "--json", tmp_path / "found.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "found.json").read_text())


def test_one_attempt_with_each_fault(tmp_path):
    found = attempts(tmp_path, 13)
    assert found["none"][0]["state"] == "published"
    assert sum(len(one) for one in found.values()) == 13
    assert [one for name in found for one in found[name] if one["wrong"]] == []


@pytest.mark.slow
def test_five_hundred_attempts(tmp_path):
    found = attempts(tmp_path, 500)
    states = {one["state"] for name in found for one in found[name]}
    assert states >= {
        "nothing happened",
        "charged, nothing published",
        "in place, not yet marked",
        "published",
    }
