"""What populations were counted from is kept beside the balances, in a file that only grows."""

import json

import pytest

from noisegate.ledger import Binding, Charge, open_ledger

FILES = [Binding(name=f"/data/{n}.csv", digest=f"{n:064x}") for n in range(4)]


@pytest.fixture(autouse=True)
def heads(tmp_path, monkeypatch):
    folder = tmp_path / "heads"
    monkeypatch.setenv("NOISEGATE_HEADS", str(folder))
    return folder


@pytest.fixture
def release(target, charge):
    """Charge a release that was counted from some files, by a ledger that is opened for it alone."""

    def release(name, *files, dataset="taps"):
        with open_ledger(target) as ledger:
            return charge(
                ledger, dataset=dataset, epsilon="1/10", release=name, charge=Charge(bindings=tuple(files))
            )

    return release


def bound(target, number):
    with open_ledger(target, read_only=True) as ledger:
        return ledger.bound_to([FILES[number].digest])


def test_content_is_known_again_whatever_it_is_called(target, release):
    release("one", FILES[0], FILES[1])
    release("two", FILES[2], dataset="others")
    assert [bound(target, n) for n in range(4)] == [{"taps"}, {"taps"}, {"others"}, set()]
    with open_ledger(target, read_only=True) as ledger:
        assert ledger.has_other_content("taps", FILES[0].name, FILES[1].digest)
        assert not ledger.has_other_content("taps", FILES[0].name, FILES[0].digest)
        assert not ledger.has_other_content("others", FILES[0].name, FILES[1].digest)
        assert ledger.account("taps").bindings == tuple((one.name, one.digest) for one in FILES[:2])


def test_the_last_content_of_a_name_counts(target, release):
    new = Binding(name=FILES[0].name, digest=FILES[3].digest)
    release("one", FILES[0])
    release("two", new)
    with open_ledger(target, read_only=True) as ledger:
        assert ledger.has_other_content("taps", new.name, FILES[0].digest)
        assert not ledger.has_other_content("taps", new.name, new.digest)


def test_a_line_is_written_once_and_old_ones_stay_as_they_are(release, heads):
    release("one", FILES[0])
    (file,) = heads.glob("*.bound")
    before = file.read_bytes()
    release("two", FILES[0])
    assert file.read_bytes() == before
    release("three", FILES[1])
    assert file.read_bytes().startswith(before)
    assert len(file.read_bytes().split()) == 2


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_file_that_lost_lines_is_made_anew_from_the_ledger(target, release, heads, damage):
    release("one", FILES[0])
    release("two", FILES[1])
    (file,) = heads.glob("*.bound")
    whole = set(file.read_bytes().split())
    file.unlink() if damage == "gone" else file.write_bytes(file.read_bytes()[:40])
    assert bound(target, 0) == bound(target, 1) == {"taps"}
    release("three", FILES[1])
    assert set(file.read_bytes().split()) == whole


def test_half_a_line_spoils_no_other(target, release, heads):
    release("one", FILES[0])
    (file,) = heads.glob("*.bound")
    file.write_bytes(file.read_bytes() + f'["taps","{FILES[1].name}","{FILES[1].digest}'.encode())
    release("two", FILES[2])
    assert bound(target, 0) == bound(target, 2) == {"taps"}
    assert bound(target, 1) == set()
    release("three", FILES[1])
    assert bound(target, 1) == {"taps"}


def test_what_an_older_version_kept_with_the_balances_is_taken_over(target, release, heads):
    release("one", FILES[0])
    (file,) = heads.glob("*.json")
    value = json.loads(file.read_text())
    del value["bound"]
    value["balances"]["known"]["taps"]["bindings"] = [[FILES[0].name, FILES[0].digest]]
    file.write_text(json.dumps(value))
    (kept,) = heads.glob("*.bound")
    kept.unlink()
    assert bound(target, 0) == {"taps"}
    release("two", FILES[1])
    assert bound(target, 0) == bound(target, 1) == {"taps"}
    assert "bindings" not in json.loads(file.read_text())["balances"]["known"]["taps"]


def test_a_history_without_a_head_is_read_once(target, release, heads, monkeypatch):
    release("one", FILES[0])
    release("two", FILES[1])
    for file in heads.iterdir():
        file.unlink()
    with open_ledger(target, read_only=True) as ledger:
        store, reads = ledger._store, []
        entries = store.entries
        monkeypatch.setattr(store, "entries", lambda **after: reads.append(after) or entries(**after))
        assert ledger.populations() == ["taps"]
        assert ledger.bound_to([FILES[1].digest]) == {"taps"}
        assert reads == [{}, {"after": 3}]
