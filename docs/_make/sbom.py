"""What the program is made of, from the lock: `requirements/sbom.cdx.json` (CycloneDX 1.5) and `requirements/licences.md`.

    python docs/_make/sbom.py [--out FOLDER]

Names, versions and digests are those of `requirements/run.txt`; licences are what the installed packages state. The same lock gives
the same bytes.
"""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import argparse
import json
import re
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from markdown import table

ROOT = Path(__file__).resolve().parents[2]
_PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ \\]+)")
_HASH = re.compile(r"--hash=sha256:(?P<digest>[0-9a-f]{64})")
_CLASSIFIER = "License :: OSI Approved :: "
#: Licences that are named in words where an identifier is meant.
_IDENTIFIERS = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
}
#: Licences that a package states in its licence file alone, as read there.
_READ = {"resvg-py": "MIT"}
_BODY = """\
What is installed with noisegate, by the lock `requirements/run.txt`, and the licence that each package states. The same as a software bill
of materials for programs, in CycloneDX: `requirements/sbom.cdx.json`. Both are made by `make sbom`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """One package of the lock."""

    name: str
    version: str
    digests: tuple[str, ...]
    licence: str

    @property
    def ref(self) -> str:
        """What the document calls it."""
        return f"{self.name}@{self.version}"

    def component(self) -> dict[str, object]:
        """As CycloneDX lists it; of several files of one version the first digest stands for all."""
        return {
            "type": "library",
            "bom-ref": self.ref,
            "name": self.name,
            "version": self.version,
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in self.digests],
            "licenses": [{"expression": self.licence}]
            if _is_expression(self.licence)
            else [{"license": {"name": self.licence}}],
        }


def pinned(lock: str, /) -> list[Pinned]:
    """The packages of a lock file, in its order."""
    found = []
    for block in re.split(r"(?m)^(?=[A-Za-z0-9])", lock):
        match = _PINNED.match(block)
        if match is not None:
            name, digests = match["name"], tuple(m["digest"] for m in _HASH.finditer(block))
            found.append(
                Pinned(name=name, version=match["version"], digests=digests, licence=licence_of(name))
            )
    return found


def licence_of(name: str, /) -> str:
    """What an installed package says of its licence, as an identifier if it can be told."""
    try:
        facts = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "not installed here"
    if stated := facts.get("License-Expression"):
        return stated
    classes = [
        one.removeprefix(_CLASSIFIER)
        for one in facts.get_all("Classifier") or []
        if one.startswith(_CLASSIFIER)
    ]
    if classes:
        return " AND ".join(dict.fromkeys(_IDENTIFIERS.get(one, one) for one in classes))
    words = (facts.get("License") or "").strip().splitlines()
    return _IDENTIFIERS.get(words[0], words[0][:60]) if words else _READ.get(name, "not stated")


def _is_expression(licence: str, /) -> bool:
    """Whether it is written with identifiers, such as `MIT OR Apache-2.0`."""
    return bool(re.fullmatch(r"[A-Za-z0-9.()+-]+( (AND|OR|WITH) [A-Za-z0-9.()+-]+)*", licence))


def document(packages: list[Pinned], /) -> dict[str, object]:
    """The bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = {
        "type": "application",
        "bom-ref": "noisegate",
        "name": project["name"],
        "version": project["version"],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**own, "licenses": [{"expression": project["license"]}]}},
        "components": [one.component() for one in packages],
        "dependencies": [{"ref": "noisegate", "dependsOn": [one.ref for one in packages]}],
    }


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    out = parser.parse_args().out
    packages = pinned((ROOT / "requirements" / "run.txt").read_text())
    rows = [(one.name, one.version, one.licence) for one in packages]
    (out / "requirements").mkdir(parents=True, exist_ok=True)
    (out / "requirements" / "sbom.cdx.json").write_text(json.dumps(document(packages), indent=1) + "\n")
    text = f"# Licences\n\n{_BODY}\n{table(('Package', 'Version', 'Licence'), rows)}\n"
    (out / "requirements" / "licences.md").write_text(text)


if __name__ == "__main__":
    main()
