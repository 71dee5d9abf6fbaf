"""The record for the OpenDP registry of deployments: its form, what it says, and a lie that lights up."""

import copy
import datetime as dt
from dataclasses import replace

import pytest
import yaml

from noisegate.tables import NOT_STATED, REGISTRY, Card, read_record, record_against, registry_record

PERSON_DAY = {"unit": "person-day", "max_cells": 4, "epsilon": "2"}
AS_IN_2016 = {
    "unit": "event",
    "scale": "1.4",
    "law": "laplace",
    "zeros": "keep",
    "suppress": {"below": 18},
    "margins": "independent",
    "unsafe": "true",
}
#: The blocks and fields that the registry's schema knows (2026); it allows no other.
FIELDS = {
    "basic": {
        "name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description",
        "publication_date", "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
    "deployment_model": {
        "model_name", "model_name_details", "actors", "release_type", "release_type_details", "data_source_type",
        "data_source_type_details", "access_type", "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip
WORDS = {
    "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
    "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data"},
    "model_name": {"Local", "Central", "Shuffle", "Federated"},
    "release_type": {"One release", "Many releases"},
    "data_source_type": {"Static", "Dynamic"},
    "access_type": {"Interactive", "Non-interactive"},
}


def record_of(made):
    return yaml.safe_load((made.folder / REGISTRY).read_text())


@pytest.mark.parametrize("privacy", [PERSON_DAY, AS_IN_2016], ids=["person-day", "2016"])
def test_the_record_has_the_form_of_the_registry(spec_of, make, privacy):
    record = record_of(make(spec_of(privacy, every="1h")))
    assert record.keys() == {"url_slug", "status", "tier", "deployment"}
    assert (record["status"], record["tier"]) == ("Draft", 3)
    told = record["deployment"]
    assert told.keys() == FIELDS.keys()
    for block, fields in told.items():
        assert fields.keys() <= FIELDS[block]
        for name, value in fields.items():
            if name in WORDS:
                assert value in WORDS[name]
            if name in {"data_curators", "registry_authors"}:
                assert value
                assert all(isinstance(one, str) for one in value)
            elif name == "privacy_parameters":
                assert value.keys() <= {"epsilon", "delta", "rho"}
            else:
                assert isinstance(value, str)
    dt.date.fromisoformat(told["basic"]["publication_date"])


def test_most_of_it_needs_no_typing(spec_of, make):
    record = record_of(make(spec_of(PERSON_DAY, every="1h")))
    fields = [value for block in record["deployment"].values() for value in block.values()]
    filled = [value for value in fields if value not in (NOT_STATED, [NOT_STATED])]
    assert 3 + len(filled) >= 28


def test_it_says_what_the_card_says(spec_of, make):
    made = make(spec_of(PERSON_DAY, every="1h"))
    card = Card.read(made.folder / "card.json")
    good, bad = record_against(record_of(made), card)
    assert (len(good), bad) == (5, [])
    assert record_of(made)["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}


def test_what_people_know_comes_from_the_spec(spec_of, make):
    made = make(spec_of(PERSON_DAY, every="1h"))
    card = Card.read(made.folder / "card.json")
    said = {"curators": ["Agency"], "intended_use": "planning", "region": "Lantern", "sector": "Government"}
    basic = registry_record(replace(card, published="2026-01-02"), said=said)["deployment"]["basic"]
    assert basic["data_curators"] == ["Agency"]
    assert basic["publication_date"] == "2026-01-02"
    assert NOT_STATED not in basic.values()


@pytest.mark.parametrize(
    ("block", "name", "lie"),
    [
        ("privacy_loss", "privacy_parameters", {"epsilon": 0.5}),
        ("privacy_loss", "privacy_parameters", {"epsilon": 2.0, "delta": 1e-5}),
        ("privacy_loss", "privacy_parameters", "none"),
        ("privacy_loss", "privacy_unit", "person"),
        ("dp_variant", "variant_name", "Approximate DP"),
    ],
)
def test_a_lie_lights_up(spec_of, make, noisegate, block, name, lie):
    made = make(spec_of(PERSON_DAY, every="1h"))
    record = copy.deepcopy(record_of(made))
    record["deployment"][block][name] = lie
    (made.folder / REGISTRY).write_text(yaml.safe_dump(record))
    assert record_against(record, Card.read(made.folder / "card.json"))[1]
    code, out, _ = noisegate("assess", made.folder, "--quiet", "--fail-on", "high")
    assert code == 3
    assert "registry record is not what the card says" in " ".join(out.split())


def test_a_record_that_cannot_be_read_is_no_agreement(spec_of, make, noisegate):
    made = make(spec_of(PERSON_DAY, every="1h"))
    (made.folder / REGISTRY).write_text("deployment: [")
    assert noisegate("assess", made.folder, "--quiet", "--fail-on", "high")[0] == 3


def test_a_true_record_is_in_order(spec_of, make, noisegate):
    made = make(spec_of(PERSON_DAY, every="1h"))
    assert read_record(made.folder / REGISTRY) == record_of(made)
    out = noisegate("assess", made.folder, "--quiet", "--verbose")[1]
    assert "registry record agrees with the card" in " ".join(out.split())


def test_all_files_of_a_release_can_be_named(spec_of, make, noisegate):
    made = make(spec_of(PERSON_DAY, every="1h"))
    code, out, err = noisegate("assess", *sorted(made.folder.iterdir()), "--quiet")
    assert (code, err) == (0, "")
    assert out == noisegate("assess", made.folder, "--quiet")[1]
