"""Statements beside the tables (hazards of SP 800-226, RO-Crate, intruder test): true as written, and a lie lights up."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

import noisegate as ng
from noisegate.releases import release
from noisegate.spec import load_spec
from noisegate.tables import CRATE, HAZARDS, PROTOCOL, REGISTRY, Card, hazards_against, hazards_statement


@pytest.fixture(scope="module")
def made(hamlet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("statements")
    release(load_spec(hamlet / "spec.yaml"), out=folder / "out", ledger=folder / "ledger", yes=True)
    return folder / "out"


@pytest.fixture
def copy(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "copy"))


def ids(folder):
    found = ng.assess(folder, attacker=None)
    return {one.id for one in found.findings}, {one.id: one for one in found.checks}


def change(path, edit):
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def entity(content, name):
    return next(one for one in content["@graph"] if one["@id"] == name)


def hazard(content, name):
    return next(one for one in content["hazards"] if one["id"] == name)


def test_what_was_written_is_in_order(made):
    findings, checks = ids(made)
    assert not findings
    for name in ("registry", "hazards", "crate"):
        assert checks[name].outcome == "fine"
    # Tables twice, card twice: the digests of all files that nobody completes.
    assert sum("SHA-256" in line for line in checks["crate"].evidence) == 6


@pytest.mark.parametrize(
    "lie",
    [
        lambda told: told["guarantee"].update(epsilon=0.1),
        lambda told: told["guarantee"].update(delta=1e-6),
        lambda told: told["guarantee"].update(privacy_unit="person"),
        lambda told: told.update(published="2020-01-01"),
        lambda told: told.update(release="another"),
        lambda told: hazard(told, "unit-of-privacy").update(status="addressed"),
        lambda told: hazard(told, "contribution-bounds")["facts"].update(max_cells=1),
        lambda told: hazard(told, "epsilon").update(status="fine"),
        lambda told: told["hazards"].remove(hazard(told, "epsilon")),
    ],
)
def test_a_lie_about_hazards_lights_up(copy, lie):
    change(copy / HAZARDS, lie)
    assert "hazards-disagrees" in ids(copy)[0]


@pytest.mark.parametrize(
    "lie",
    [
        lambda told: entity(told, "#epsilon").update(value=0.1),
        lambda told: entity(told, "#delta").update(value=0.5),
        lambda told: entity(told, "#privacy-unit").update(value="person"),
        lambda told: entity(told, "./").update(datePublished="2020-01-01"),
        lambda told: entity(told, "base.csv").update(sha256="0" * 64),
        lambda told: entity(told, "base.csv").update(contentSize="1"),
        lambda told: entity(told, "card.json").pop("sha256"),
        lambda told: told["@graph"].remove(entity(told, "#epsilon")),
    ],
)
def test_a_lie_in_the_crate_lights_up(copy, lie):
    change(copy / CRATE, lie)
    assert "crate-disagrees" in ids(copy)[0]


@pytest.mark.parametrize("name", ["base.csv", "time.parquet", "CARD.md", "card.json"])
def test_a_file_that_was_changed_lights_up(copy, name):
    content = (copy / name).read_bytes()
    other = content.replace(b"1", b"2", 1) if name.endswith(".csv") else content + b"\n"
    (copy / name).write_bytes(other)
    # Parquet is not read where there is CSV; its digest is looked at all the same.
    assert "crate-disagrees" in ids(copy)[0]


def test_another_date_on_the_card_lights_up_everywhere(copy):
    change(copy / "card.json", lambda told: told.update(published="2020-01-01"))
    assert {"registry-disagrees", "hazards-disagrees", "crate-disagrees"} <= ids(copy)[0]


@pytest.mark.parametrize(
    ("name", "kind"), [(HAZARDS, "hazards"), (CRATE, "crate"), (PROTOCOL, "intruder-test")]
)
def test_what_cannot_be_read_is_no_agreement(copy, name, kind):
    (copy / name).write_text("{")
    assert f"{kind}-disagrees" in ids(copy)[0]


def test_people_may_complete_what_is_theirs_to_say(copy):
    change(copy / HAZARDS, lambda told: hazard(told, "security").update(status="addressed", how="Locked up."))
    record = yaml.safe_load((copy / REGISTRY).read_text())
    record["deployment"]["basic"]["intended_use"] = "planning"
    (copy / REGISTRY).write_text(yaml.safe_dump(record))
    assert not ids(copy)[0]


def test_tables_without_all_files_of_their_release_are_in_order(copy):
    (copy / "time.parquet").unlink()
    (copy / "base.parquet").unlink()
    assert not ids(copy)[0]


def test_a_crate_makes_nobody_read_outside_of_the_release(copy):
    (copy.parent / "secret").write_text("x")
    lie = {"@id": "../secret", "@type": "File", "sha256": "0" * 64, "contentSize": "1"}
    change(copy / CRATE, lambda told: told["@graph"].append(lie))
    assert not ids(copy)[0]


def test_unsafe_choices_are_hazards_that_nobody_addressed(made):
    card = Card.read(
        json.loads((made / "card.json").read_text())
        | {"unsafe": [{"choice": "zeros: keep"}], "simulated": True}
    )
    status = {one["id"]: one["status"] for one in hazards_statement(card)["hazards"]}
    assert (
        status["unsafe-choices"]
        == status["randomness"]
        == status["composition-of-releases"]
        == "not addressed"
    )
    assert set(status.values()) == {"addressed", "in part", "not addressed", "a person must say"}
    assert hazards_against(hazards_statement(Card.read(made / "card.json")), card).bad


class TestIntruderTest:
    @pytest.fixture
    def tested(self, copy, noisegate, tmp_path):
        code, _, err = noisegate("assess", copy, "--quiet", "--attacker", "none", "--out", tmp_path / "a")
        assert (code, err) == (0, "")
        shutil.copy(tmp_path / "a" / PROTOCOL, copy / PROTOCOL)
        return copy

    def test_its_protocol_says_who_what_how_and_what_came_of_it(self, tested):
        told = json.loads((tested / PROTOCOL).read_text())
        assert told["repeat_with"].startswith("noisegate ")
        assert {one["name"] for one in told["sources"]["files"]} == {"base.csv", "time.csv"}
        assert all(len(one["sha256"]) == 64 for one in told["sources"]["files"])
        assert told["software"]["libraries"].keys() >= {"numpy", "scipy"}
        assert len(told["tried"]) > 5
        assert "microdata" in told["not_tried"]
        assert told["results"]["findings"] == []

    def test_it_agrees_with_an_assessment_of_the_same_files(self, tested):
        findings, checks = ids(tested)
        assert not findings
        assert checks["intruder-test"].outcome == "fine"

    @pytest.mark.parametrize(
        "lie",
        [
            lambda told: told.update(made="2020-01-01T00:00:00+00:00"),
            lambda told: told.update(made="2999-01-01T00:00:00+00:00"),
            lambda told: told.update(made="yesterday"),
            lambda told: told["sources"]["files"][0].update(sha256="0" * 64),
            lambda told: told["results"]["privacy"].update(event_epsilon=0.01),
            lambda told: told["results"]["privacy"].update(delta=0.5),
            lambda told: told["software"].update(version="9"),
            lambda told: told["tried"].clear(),
        ],
    )
    def test_a_lie_lights_up(self, tested, lie):
        change(tested / PROTOCOL, lie)
        assert "intruder-test-disagrees" in ids(tested)[0]

    def test_what_it_leaves_out_lights_up(self, tested):
        """Another finding comes up: the protocol is that of other days."""
        change(tested / HAZARDS, lambda told: told["guarantee"].update(epsilon=0.1))
        found = ng.assess(tested, attacker=None)
        said = next(one for one in found.findings if one.id == "intruder-test-disagrees")
        assert any("hazards-disagrees" in line for line in said.evidence)

    def test_people_say_who_they_are(self, tested):
        change(tested / PROTOCOL, lambda told: told["people"].update(tested_by="A. Person"))
        assert not ids(tested)[0]


def test_another_librarys_reader_finds_the_files(made):
    rocrate = pytest.importorskip("rocrate.rocrate", reason="ro-crate-py is not installed")
    crate = rocrate.ROCrate(made)
    assert crate.name == "hamlet"
    names = {one.id for one in crate.data_entities}
    assert {"base.csv", "time.parquet", "card.json", HAZARDS, REGISTRY} <= names


def test_every_reference_in_the_crate_leads_somewhere(made):
    graph = json.loads((made / CRATE).read_text())["@graph"]
    known = {one["@id"] for one in graph}
    assert len(known) == len(graph)

    def references(value):
        if isinstance(value, dict):
            yield value["@id"]
        elif isinstance(value, list):
            for one in value:
                yield from references(one)

    outside = {
        name
        for one in graph
        for key, value in one.items()
        if key != "@id"
        for name in references(value)
        if name not in known
    }
    assert outside == {"https://w3id.org/ro/crate/1.2", "https://w3id.org/shp#DisclosureCheck"}
