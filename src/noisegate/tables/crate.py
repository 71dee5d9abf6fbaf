"""A release as an RO-Crate that speaks the language of the Five Safes, written from its card and its files, and held against them.

RO-Crate 1.2 is the form. Names follow the Five Safes RO-Crate profile 0.4 (Soiland-Reyes and Wheater, 2023): the project that is
responsible, the action that made the tables, the check before disclosure. The profile is about runs of a workflow and asks for a
workflow crate; a release is no such run, so the crate says that it follows the profile and does not claim to conform to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from noisegate.places import read_json
from noisegate.tables.agreement import NOT_STATED, Agreement, compared
from noisegate.tables.card import CARD, Card, Json

#: What the crate is called when it lies beside the tables.
CRATE: Final = "ro-crate-metadata.json"
PROFILE: Final = "https://w3id.org/5s-crate/0.4"
_ROCRATE: Final = "https://w3id.org/ro/crate/1.2"
_MOST: Final = 16 << 20
_WORDS = {
    CARD: "The card: how the tables were made and what is promised, for programs.",
    "CARD.md": "The card in words, for people.",
    "registry.yaml": "Record for the OpenDP registry of deployments; people complete it.",
    "nist-sp-800-226.json": "The hazards of NIST SP 800-226, each with what is done about it; people complete it.",
}
_KINDS = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
}


def crate_of(card: Card, folder: Path, /, *, said: Mapping[str, Any], undigested: Iterable[str] = ()) -> Json:
    """The crate of a release whose files lie in `folder`; those that people complete have no digest."""
    open_files = {CRATE, *undigested}
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CRATE)
    files = [_file(path, folder, digest=path.name not in open_files) for path in paths]
    safes = _safes(card, said)
    facts = [
        {"@id": f"#{name}", "@type": "PropertyValue", "name": name, "value": value}
        for name, value in _facts(card).items()
    ]
    return {
        "@context": f"{_ROCRATE}/context",
        "@graph": [
            {
                "@id": CRATE,
                "@type": "CreativeWork",
                "about": {"@id": "./"},
                "conformsTo": {"@id": _ROCRATE},
            },
            _root(card, said, files, safes),
            *files,
            *safes,
            *facts,
            *_context(card, said, files),
        ],
    }


def write_crate(path: Path, crate: Json, /) -> None:
    """Write a crate as JSON."""
    path.write_text(json.dumps(crate, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def read_crate(path: Path, /) -> Json:
    """The crate in a file.

    Raises
    ------
    DataError
        If it cannot be read, or is no crate.
    """
    return read_json(path, most=_MOST, what="the RO-Crate", lists="@graph")


def crate_against(crate: Mapping[str, Any], card: Card, folder: Path, /) -> Agreement:
    """In which points a crate says what the card says and what the files are; files that are not there are passed over."""
    what = "the RO-Crate"
    graph = {str(one.get("@id")): one for one in crate.get("@graph", ()) if isinstance(one, Mapping)}
    root = graph.get("./", {})
    points: list[tuple[str, object, object]] = [("name", root.get("name"), card.name or NOT_STATED)]
    if card.published is not None:
        points.append(("date", root.get("datePublished"), card.published))
    points += [
        (name.replace("-", " "), graph.get(f"#{name}", {}).get("value"), value)
        for name, value in _facts(card).items()
    ]
    found = compared(what, points)
    for table in card.tables:
        if not any(f"{table.name}{ending}" in graph for ending in (".csv", ".parquet")):
            found.bad.append(f"table {table.name}: the card has it, {what} does not")
    for name, entity in graph.items():
        if "sha256" in entity or "contentSize" in entity:
            _compare_file(name, entity, folder, found)
    if "sha256" not in graph.get(CARD, {}):
        found.bad.append(f"{CARD}: {what} has no digest of it")
    return found


def _compare_file(name: str, entity: Mapping[str, Any], folder: Path, found: Agreement, /) -> None:
    path = folder / name
    # Nothing outside of the release is read, whatever a crate says.
    if Path(name).is_absolute() or ".." in Path(name).parts or path.is_symlink() or not path.is_file():
        return
    size, digest = str(path.stat().st_size), _digest(path)
    if entity.get("sha256") != digest or str(entity.get("contentSize")) != size:
        found.bad.append(
            f"{name}: the file is not the one that the RO-Crate lists (its SHA-256 digest or size differs)"
        )
    else:
        found.good.append(f"{name} has the size and the SHA-256 digest that the RO-Crate lists")


def _digest(path: Path, /) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file(path: Path, folder: Path, /, *, digest: bool) -> Json:
    name = path.relative_to(folder).as_posix()
    words = _WORDS.get(path.name, "A table of the release." if path.suffix in {".csv", ".parquet"} else "")
    found: Json = {"@id": name, "@type": "File", "name": path.name, "description": words or path.name}
    if path.suffix in _KINDS:
        found["encodingFormat"] = _KINDS[path.suffix]
    if digest:
        found |= {"contentSize": str(path.stat().st_size), "sha256": _digest(path)}
    return found


def _facts(card: Card, /) -> Json:
    loss = card.parameters
    return {
        "privacy-unit": card.unit,
        "neighbours": card.neighbours,
        "dp-variant": card.dp_variant,
        "epsilon": None if loss is None else loss.epsilon,
        "delta": None if loss is None else loss.delta,
    }


def _root(card: Card, said: Mapping[str, Any], files: list[Json], safes: list[Json], /) -> Json:
    tables = ", ".join(f"{one.name} ({' x '.join(one.dimensions)})" for one in card.tables)
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": card.name or NOT_STATED,
        "description": said.get("summary")
        or f"Counts of events with noise, in {len(card.tables)} tables: {tables}.",
        "datePublished": card.published or NOT_STATED,
        "license": {"@id": _license(said)["@id"]},
        "publisher": {"@id": "#publisher"},
        "sourceOrganization": {"@id": "#project"},
        "isBasedOn": {"@id": PROFILE},
        "hasPart": [{"@id": one["@id"]} for one in files],
        "mentions": [{"@id": "#release"}, {"@id": "#disclosure-check"}],
        "about": [{"@id": one["@id"]} for one in safes],
        "variableMeasured": [{"@id": f"#{name}"} for name in _facts(card)],
    }


def _safes(card: Card, said: Mapping[str, Any], /) -> list[Json]:
    loss = card.parameters
    figures = (
        "no epsilon"
        if loss is None or loss.epsilon is None
        else f"epsilon {loss.epsilon:g}, delta {loss.delta or 0:g}"
    )
    unsafe = "; ".join(str(one.get("choice")) for one in card.unsafe)
    words = {
        "safe-project": ("Safe project", f"Intended use: {said.get('intended_use') or NOT_STATED}"),
        "safe-people": ("Safe people", "The tables are public: anybody may read them. Who held the events: " + (", ".join(said.get("curators") or ()) or NOT_STATED)),
        "safe-settings": ("Safe settings", "None: the tables are published without conditions of access."),
        "safe-data": ("Safe data", f"Counts with noise, no records. Protected: one {card.unit}, {figures}, for all tables together."),
        "safe-outputs": ("Safe outputs", f"Unsafe choices on the card: {unsafe}." if unsafe else "No unsafe choice on the card. What the tables give away is assessed apart."),
    }  # fmt: skip
    return [
        {"@id": f"#{key}", "@type": "DefinedTerm", "name": name, "description": text}
        for key, (name, text) in words.items()
    ]


def _license(said: Mapping[str, Any], /) -> Json:
    told = str(said.get("license") or "")
    if told.startswith(("http://", "https://")):
        return {
            "@id": told,
            "@type": "CreativeWork",
            "name": told,
            "description": "The licence of the tables.",
        }
    return {
        "@id": "#license",
        "@type": "CreativeWork",
        "name": told or NOT_STATED,
        "description": "The licence of the tables."
        if told
        else "Nobody has said under which licence the tables are published.",
    }


def _context(card: Card, said: Mapping[str, Any], files: list[Json], /) -> list[Json]:
    publisher = ", ".join(said.get("curators") or ()) or NOT_STATED
    software = card.software
    tables = [
        one["@id"]
        for one in files
        if one.get("encodingFormat") in {"text/csv", "application/vnd.apache.parquet"}
    ]
    return [
        {"@id": "#publisher", "@type": "Organization", "name": publisher},
        {"@id": "#project", "@type": "Project", "name": said.get("intended_use") or NOT_STATED},
        {
            "@id": "#software",
            "@type": "SoftwareApplication",
            "name": "an unnamed program" if software is None else software.name,
            "version": NOT_STATED if software is None else software.version,
            "softwareVersion": NOT_STATED if software is None else software.version,
            # RO-Crate wants an address of every program; a package URL is one that points at no host.
            "url": "pkg:generic/unnamed"
            if software is None
            else f"pkg:generic/{software.name}@{software.version}",
        },
        {
            "@id": "#release",
            "@type": "CreateAction",
            "name": f"Release of {card.name or 'the tables'}",
            "endTime": card.published or NOT_STATED,
            "actionStatus": "http://schema.org/CompletedActionStatus",
            "agent": {"@id": "#publisher"},
            "instrument": {"@id": "#software"},
            "result": [{"@id": name} for name in tables],
        },
        {
            "@id": "#disclosure-check",
            "@type": "AssessAction",
            "additionalType": {"@id": "https://w3id.org/shp#DisclosureCheck"},
            "name": "Disclosure check of the tables: no result is stated here; 'noisegate assess' makes one",
            "object": {"@id": "./"},
            "agent": {"@id": "#publisher"},
            "actionStatus": "http://schema.org/PotentialActionStatus",
        },
        {
            "@id": PROFILE,
            "@type": ["CreativeWork", "Profile"],
            "name": "Five Safes RO-Crate profile 0.4",
            "description": "Followed in its names; conformance is not claimed, since a release is no run of a workflow.",
        },
        _license(said),
    ]
