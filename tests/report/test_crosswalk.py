"""The cross-walk: every item says what is answered, by what, and what a person must answer."""

import re
from pathlib import Path

import pytest

import noisegate.assessment
from noisegate.assessment import INQUIRIES
from noisegate.report import ISO, REGISTRY, REPORT, page_of


@pytest.fixture
def items(whole):
    frameworks = page_of(whole).frameworks
    return {item.name: item for framework in frameworks for item in framework.items}


def test_the_items_asked_for_are_there(items):
    for number in ("7.2", "7.3", "8.2", "8.3.4"):
        assert sum(name.startswith(f"{number} ") for name in items) == 1
    for tier in ("Tier 1", "Tier 2", "Tier 3"):
        assert any(name.startswith(f"{tier}: ") for name in items)
    assert len(REPORT) == 11


def test_every_item_leaves_something_to_a_person(items):
    assert all(item.person for item in items.values())
    assert all(item.answers or item.status == "not looked at" for item in items.values())


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("8.2 Assessing identifiability", "answered by a finding"),
        ("7.2 Data features", "answered"),
        ("Tier 3: implementation and security", "looked at and in order"),
        ("Derive totals from the protected table", "these tables do not tell"),
        ("Count the rows removed correctly", "answered in part"),
        ("Tier 2: deployment model", "not looked at"),
    ],
)
def test_the_status_says_how_far_an_item_is_answered(items, name, status):
    assert items[name].status == status


def test_facts_of_the_loss_answer_tier_two(items):
    assert [answer.text for answer in items["Tier 2: flavour of differential privacy"].answers] == [
        "Finding: zeros kept",
        "Approximate at best: delta is 1.1e-05.",
    ]


def test_nothing_claims_to_be_certified(reported):
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8").lower()
    assert "it is no certificate" in text
    for word in ("certified", "complies", "compliant", "conforms"):
        assert word not in text


def test_every_kind_of_finding_has_a_method_and_a_place_in_the_crosswalk():
    sources = Path(noisegate.assessment.__file__).parent.rglob("*.py")
    kinds = {
        kind
        for file in sources
        for kind in re.findall(r'Finding\(\s*id="([a-z-]+)"', file.read_text(encoding="utf-8"))
    }
    asked = {kind for question in (*ISO, *REGISTRY, *REPORT) for kind in question.results}
    assert len(kinds) >= 8
    words = {kind: words for inquiry in INQUIRIES for kind, words in inquiry.WORDS.items()}
    assert kinds <= set(words)
    assert all(words[kind].meaning and words[kind].method for kind in kinds)
    assert all(one.says for one in words.values())
    assert kinds <= asked
