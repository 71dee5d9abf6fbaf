"""A release as a record of the OpenDP registry of deployments, written from its card, and held against it.

The form is that of the registry's own schema (`deployments-schema.yaml` of its data repository): three tiers, most of it text. What a
card cannot know (who publishes, what for, where) is taken from the spec's `publication`; what nobody said is said to be
missing, since silence would look like an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from noisegate.errors import DataError
from noisegate.places import read_octets
from noisegate.tables.agreement import NOT_STATED, Agreement, block_of, compared
from noisegate.tables.card import Card, Json, StatedTable

#: What the record is called when it lies beside the tables.
REGISTRY: Final = "registry.yaml"
_MOST: Final = 1 << 20
_VARIANTS = {"pure dp": "Pure DP", "approximate dp": "Approximate DP", "zcdp": "Zero-concentrated DP"}


def registry_record(card: Card, /, *, said: Mapping[str, Any]) -> Json:
    """The record of a release: a draft, which a person completes and hands in."""
    return {
        "url_slug": (card.name or "release").lower().replace(".", "_").replace("-", "_"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(card, said),
            "dp_variant": {
                "variant_name": _variant(card),
                "data_domain": _domain(card),
                "unprotected_quantities": _unprotected(card),
            },
            "privacy_loss": _loss(card),
            "deployment_model": _model(card),
            "accounting": {
                "post_processing": _listed(card.post_processing),
                "composition": card.composition or NOT_STATED,
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _before(card),
                "mechanisms": _mechanisms(card),
                "justification": said.get("justification") or NOT_STATED,
            },
            "administrative": {
                "sources": said.get("sources") or NOT_STATED,
                "notes": _listed(card.not_protected),
                "registry_authors": list(said.get("authors") or said.get("curators") or [NOT_STATED]),
            },
        },
    }


def write_record(path: Path, record: Json, /) -> None:
    """Write a record as YAML."""
    import yaml

    path.write_text(yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=100), "utf-8")


def read_record(path: Path, /) -> Json:
    """The record in a file.

    Raises
    ------
    DataError
        If it cannot be read, or is no record.
    """
    import yaml

    octets = read_octets(path, most=_MOST, what="the registry record")
    try:
        found = yaml.safe_load(octets)
    except (yaml.YAMLError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("deployment"), dict):
        raise DataError(f"the registry record {path.name!r} is not YAML with a block 'deployment'.")
    return found


def record_against(record: Mapping[str, Any], card: Card, /) -> Agreement:
    """In which points a record says what the card says, and in which it does not."""
    told = record.get("deployment", {})
    loss, variant = block_of(told, "privacy_loss"), block_of(told, "dp_variant")
    stated, ours = block_of(loss, "privacy_parameters"), _parameters(card)
    points: list[tuple[str, object, object]] = [
        ("epsilon", stated.get("epsilon"), ours.get("epsilon")),
        ("delta", stated.get("delta", 0.0), ours.get("delta", 0.0)),
        ("privacy unit", loss.get("privacy_unit"), card.unit),
        ("variant", variant.get("variant_name"), _variant(card)),
    ]
    if card.published is not None:
        points.append(("date", block_of(told, "basic").get("publication_date"), card.published))
    return compared("the registry record", points)


def _basic(card: Card, said: Mapping[str, Any], /) -> Json:
    tables = ", ".join(f"{one.name} ({' x '.join(one.dimensions)})" for one in card.tables)
    basic: Json = {
        "name": card.name or NOT_STATED,
        "data_curators": list(said.get("curators") or [NOT_STATED]),
        "intended_use": said.get("intended_use") or NOT_STATED,
        "data_product_type": "Summary statistics",
        "data_product_region": said.get("region") or NOT_STATED,
        "description": said.get("summary") or f"Counts of events in {len(card.tables)} tables: {tables}.",
        "publication_date": card.published or NOT_STATED,
    }
    if said.get("sector"):
        basic["data_product_sector"] = said["sector"]
    return basic


def _variant(card: Card, /) -> str:
    return _VARIANTS.get((card.dp_variant or "").lower(), "Custom")


def _domain(card: Card, /) -> str:
    cells = next((one.cells for one in card.tables if one.base), None)
    size = "" if cells is None else f" of {cells:,} cells"
    return (
        f"All sets of events. Each event falls into one cell of a public domain{size}, or outside it; the domain is fixed by the "
        "spec and depends on no event."
    )


def _unprotected(card: Card, /) -> str:
    unsafe = [str(one.get("consequence") or one.get("what") or one) for one in card.unsafe]
    fixed = "The domain, the bounds, the noise and the thresholds, which are fixed beforehand"
    return (
        f"{fixed}. Unsafe choices: {_listed(unsafe)}"
        if unsafe
        else f"{fixed}. No count is published without noise."
    )


def _parameters(card: Card, /) -> Json:
    found = card.parameters
    if found is None or found.epsilon is None:
        return {}
    return {"epsilon": float(found.epsilon)} | ({"delta": float(found.delta)} if found.delta else {})


def _loss(card: Card, /) -> Json:
    others = {
        "an event": card.losses.event,
        "a person on one day": card.losses.person_day,
        "a person": card.losses.person,
    }
    words = [
        f"{who}: epsilon {loss.epsilon:g}, delta {loss.delta or 0:g}"
        for who, loss in others.items()
        if loss is not None and loss.epsilon is not None
    ]
    return {
        "privacy_unit": card.unit,
        "privacy_unit_details": (
            f"{card.unit_description or card.unit}. Neighbours: two sets of events, one of which has the events of one unit more "
            f"({card.neighbours or 'add-remove'})."
        ),
        "privacy_parameters": _parameters(card),
        "privacy_parameters_details": f"For all tables together. {_listed(words)}",
    }


def _model(card: Card, /) -> Json:
    many = card.series is not None
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the events and adds the noise before anything is published.",
        "actors": "The curator, who is trusted with the events and the ledger; readers of the published tables, who are not trusted.",
        "release_type": "Many releases" if many else "One release",
        "release_type_details": (
            "A series whose whole loss was charged beforehand."
            if many
            else "Charged to a ledger of the population, which refuses what goes beyond its budget."
        ),
        "data_source_type": "Dynamic" if many else "Static",
        "data_source_type_details": "The events of the dates in the domain.",
        "access_type": "Non-interactive",
        "access_type_details": "Published tables; nobody queries the events.",
    }


def _before(card: Card, /) -> str:
    bound = card.bounding
    kept = (
        "No bound on what one unit adds is needed."
        if bound is None
        else f"Each unit adds at most {bound.max_cells} cells, each at most {bound.max_per_cell} times; kept {bound.kept}."
    )
    return f"{kept} What people looked at before they chose the parameters of the spec is not known to the program."


def _mechanisms(card: Card, /) -> str:
    made = card.mechanism
    software = "" if card.software is None else f" {card.software.name} {card.software.version}"
    words = [
        f"Law {made.law}, {made.sampler or 'sampler not stated'}, {made.rounding or 'rounding not stated'}",
        f"zeros: {made.zeros}",
        f"margins: {made.margins_description or made.margins}",
        *(_noise(one) for one in card.tables if one.noise is not None),
    ]
    bits = (
        "Noise is repeatable, for a demonstration: it protects nobody."
        if card.simulated
        else "Random bits come from the operating system."
    )
    return f"{_listed(words)} Made by{software or ' an unnamed program'}. {bits}"


def _noise(table: StatedTable, /) -> str:
    cut = "" if table.threshold is None else f", shown from {table.threshold:g} on"
    return f"{table.name}: scale {table.noise.scale:g}{cut}" if table.noise else table.name


def _listed(parts: Sequence[str], /) -> str:
    return "; ".join(parts) + "." if parts else "None."
