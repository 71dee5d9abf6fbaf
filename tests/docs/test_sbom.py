"""The bill of materials and the list of licences are those of the lock."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_kept_files_are_made_from_the_lock(tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "docs" / "_make" / "sbom.py", "--out", tmp_path], check=True, timeout=120
    )
    for name in ("sbom.cdx.json", "licences.md"):
        made, kept = (folder / "requirements" / name for folder in (tmp_path, ROOT))
        assert made.read_text() == kept.read_text(), f"run 'make sbom' to make {name} anew"


def test_every_pinned_package_is_listed_with_its_digests_and_licence():
    lock = (ROOT / "requirements" / "run.txt").read_text()
    pinned = dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^ \\]+)", lock))
    listed = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text())
    assert listed["bomFormat"] == "CycloneDX"
    assert {one["name"]: one["version"] for one in listed["components"]} == pinned
    assert sum(len(one["hashes"]) for one in listed["components"]) == lock.count("--hash=sha256:")
    licences = (ROOT / "requirements" / "licences.md").read_text()
    assert "not stated" not in licences
    assert "not installed" not in licences
