"""The file that says how to cite, and where to report a fault."""

from pathlib import Path

import yaml

from noisegate import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["version"] == __version__
