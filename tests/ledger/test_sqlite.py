"""The ledger in a file: foreign, damaged, forbidden and busy files, each in one clear sentence."""

import os
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from noisegate.errors import DataError, InternalError, NoisegateError, OutputError, SpecError
from noisegate.ledger import APPLICATION_ID, SqliteStore, default_target, open_ledger
from noisegate.ledger._sqlite import _as_ours


@pytest.fixture
def target(sqlite_target):
    return sqlite_target


@pytest.mark.parametrize("octets", [b"card_id,mode,tap\n" * 100, b"PK\x03\x04" + bytes(5000), b"\x00" * 4096])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, octets, read_only):
    path = tmp_path / "taps.csv"
    path.write_bytes(octets)
    with pytest.raises(DataError, match="is not a ledger of noisegate, or it is damaged"):
        open_ledger(path, read_only=read_only)
    assert path.read_bytes() == octets


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_somebody_else_is_refused_and_left_alone(tmp_path, mode):
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA journal_mode = {mode}")
    other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="is a database, but not a ledger of noisegate"):
        open_ledger(path)
    assert path.read_bytes() == before


def fill(target):
    """Make a ledger of several pages."""
    with open_ledger(target) as ledger, ledger._store.exclusive():
        for _ in range(60):
            ledger._write("budget", "taps", unit="event", epsilon="1", delta="0", source="set")


def test_a_ledger_with_pages_overwritten_is_refused(target):
    fill(target)
    octets = bytearray(Path(target).read_bytes())
    octets[4096:] = os.urandom(len(octets) - 4096)
    Path(target).write_bytes(octets)
    with pytest.raises(DataError, match="damaged"), open_ledger(target) as ledger:
        ledger.accounts()


def test_a_cut_ledger_is_refused(target):
    fill(target)
    octets = Path(target).read_bytes()
    Path(target).write_bytes(octets[: len(octets) // 2])
    with pytest.raises(DataError, match="damaged"), open_ledger(target) as ledger:
        ledger.check()


def test_a_ledger_that_lost_a_table_or_comes_from_the_future_is_refused(target):
    open_ledger(target).close()
    raw = sqlite3.connect(target)
    raw.execute("DROP TRIGGER noisegate_ledger_no_update")
    raw.execute("UPDATE noisegate_ledger SET format = 9")
    raw.commit()
    with pytest.raises(DataError, match="has format 9; this version of noisegate reads formats 1 and 2"):
        open_ledger(target)
    raw.execute("DROP TABLE noisegate_entry")
    raw.commit()
    raw.close()
    with pytest.raises(DataError, match="lacks some of its tables"):
        open_ledger(target)


def test_an_empty_file_becomes_a_ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch()
    with open_ledger(path, read_only=True) as ledger:
        assert not ledger.exists
    assert path.stat().st_size == 0
    with open_ledger(path) as ledger:
        assert ledger.exists


@pytest.mark.parametrize("table", ["noisegate_entry", "noisegate_ledger"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET {}"])
def test_the_tables_only_grow(target, charge, table, change):
    with open_ledger(target) as ledger:
        charge(ledger)
    column = "epsilon = '0'" if table == "noisegate_entry" else "format = 1"
    raw = sqlite3.connect(target)
    with pytest.raises(sqlite3.IntegrityError, match="the ledger only grows"):
        raw.execute(change.format(table, column))
    raw.close()


def test_everything_is_in_one_file_that_can_be_copied(target, charge, tmp_path):
    with open_ledger(target) as ledger:
        charge(ledger)
        assert [one.name for one in Path(target).parent.iterdir()] == ["ledger.sqlite"]
        shutil.copy(target, tmp_path / "copy.sqlite")
        with open_ledger(tmp_path / "copy.sqlite", read_only=True) as copy:
            assert copy.accounts() == ledger.accounts()


def test_commits_are_durable(target):
    with open_ledger(target) as ledger:
        connection = ledger._store._connection
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 3  # EXTRA
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
        assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID


def test_a_ledger_opened_for_reading_cannot_be_written(target, charge):
    open_ledger(target).close()
    with (
        open_ledger(target, read_only=True) as ledger,
        pytest.raises(OutputError, match="cannot be opened or written"),
    ):
        charge(ledger)


def test_a_missing_ledger_opened_for_reading_cannot_be_written(target, charge):
    with (
        open_ledger(target, read_only=True) as ledger,
        pytest.raises(InternalError, match="opened for reading"),
    ):
        charge(ledger)
    assert not Path(target).exists()


def test_a_busy_ledger_says_so(target):
    with open_ledger(target) as ledger, ledger._store.exclusive():
        waiting = SqliteStore(Path(target), busy_s=0.05)
        with (
            pytest.raises(OutputError, match=r"is in use by another process\. Try again"),
            waiting.exclusive(),
        ):
            pytest.fail("two writers at once")
        waiting.close()


def test_a_directory_is_no_ledger(tmp_path):
    with pytest.raises(OutputError, match=r"is a directory\. Name a file in it\."):
        open_ledger(tmp_path)


def test_a_place_under_a_file_cannot_be_used(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot be used \(.+\)\. Name another place with --ledger"):
        open_ledger(tmp_path / "file" / "ledger.sqlite")


@pytest.fixture
def protected():
    """A directory that may be read but not written."""
    with tempfile.TemporaryDirectory(prefix="ng-ro-") as name:
        Path(name).chmod(0o555)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_read_only_directory_is_an_output_error(protected, few_rights):
    with few_rights():
        with pytest.raises(
            OutputError, match=r"^The ledger .+ cannot be opened or written\. Check the rights"
        ):
            open_ledger(protected / "ledger.sqlite")
        with pytest.raises(
            OutputError, match=r"^The directory of the ledger .+ cannot be used \(Permission denied"
        ):
            open_ledger(protected / "new" / "ledger.sqlite")
        with open_ledger(protected / "ledger.sqlite", read_only=True) as ledger:
            assert not ledger.exists
    assert list(protected.iterdir()) == []


def test_a_read_only_ledger_can_be_looked_at(protected, few_rights):
    path = protected / "ledger.sqlite"
    protected.chmod(0o755)
    with open_ledger(path) as ledger:
        ledger.set_budget("taps", epsilon=1, unit="event")
    path.chmod(0o444)
    protected.chmod(0o555)
    with few_rights():
        with open_ledger(path, read_only=True) as ledger:
            assert len(ledger.accounts()) == 1
        with open_ledger(path) as ledger, pytest.raises(OutputError, match="cannot be opened or written"):
            ledger.set_budget("taps", epsilon=2)


def test_a_directory_without_rights_is_an_output_error(protected, few_rights):
    protected.chmod(0o700)
    with few_rights(), pytest.raises(OutputError, match="Permission denied"):
        open_ledger(protected / "ledger.sqlite", read_only=True)


def every_sqlite_error():
    names = [name for name in dir(sqlite3) if name.startswith("SQLITE_")]
    with_code = {getattr(sqlite3, name) for name in names if isinstance(getattr(sqlite3, name), int)}
    return sorted(code for code in with_code if 0 < code <= 28)


def test_every_error_of_sqlite_becomes_one_of_ours():
    for code in every_sqlite_error():
        error = sqlite3.OperationalError("words of the driver")
        error.sqlite_errorcode = code
        ours = _as_ours(error, place="PLACE")
        assert isinstance(ours, NoisegateError)
        assert "PLACE" in str(ours)
    assert isinstance(_as_ours(sqlite3.ProgrammingError("closed"), place="PLACE"), InternalError)


def test_the_default_place(monkeypatch, tmp_path):
    monkeypatch.delenv("NOISEGATE_LEDGER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert default_target() == str(tmp_path / ".local" / "state" / "noisegate" / "ledger.sqlite")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_target() == str(tmp_path / ".local" / "state" / "noisegate" / "ledger.sqlite")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_target() == str(tmp_path / "state" / "noisegate" / "ledger.sqlite")
    monkeypatch.setenv("NOISEGATE_LEDGER", str(tmp_path / "here.sqlite"))
    with open_ledger() as ledger:
        assert ledger.place == str(tmp_path / "here.sqlite")


def test_a_tilde_is_the_home_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with open_ledger("~/my ledger?.sqlite") as ledger:
        assert ledger.place == str(tmp_path / "my ledger?.sqlite")
    assert (tmp_path / "my ledger?.sqlite").is_file()


def test_another_kind_of_address_is_refused():
    with pytest.raises(SpecError) as caught:
        open_ledger("mysql://me:secret@host/db")
    assert str(caught.value) == (
        "the ledger must be the path of a file or an address postgresql://…, got 'mysql://…'."
    )


def test_a_new_ledger_is_for_its_owner_alone(tmp_path, charge):
    before = os.umask(0o000)
    try:
        with open_ledger(tmp_path / "l.sqlite") as ledger:
            charge(ledger)
    finally:
        os.umask(before)
    assert (tmp_path / "l.sqlite").stat().st_mode & 0o777 == 0o600


def rewritten(target, statement):
    """Change a ledger behind its back, triggers and all."""
    raw = sqlite3.connect(target)
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    raw.execute("PRAGMA ignore_check_constraints = 1")
    raw.execute(statement)
    raw.commit()
    raw.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE noisegate_entry SET dataset = x'00ff' WHERE seq = 2",
        "UPDATE noisegate_entry SET epsilon = 7.5",
        "UPDATE noisegate_entry SET digest = x'ff' WHERE seq = 1",
        "UPDATE noisegate_entry SET at = 12",
        "UPDATE noisegate_entry SET kind = 'gift'",
        "UPDATE noisegate_entry SET epsilon = 'all of it'",
        "UPDATE noisegate_entry SET unit = 'household'",
        "UPDATE noisegate_entry SET dataset = CAST(x'74ff7073' AS TEXT)",
        "UPDATE noisegate_entry SET output = x'0a'",
        "UPDATE noisegate_ledger SET origin = x'01'",
        "UPDATE noisegate_ledger SET format = 'one'",
        "DELETE FROM noisegate_ledger",
    ],
)
def test_a_ledger_with_values_of_another_kind_is_called_damaged(target, charge, statement, noisegate):
    with open_ledger(target) as ledger:
        for _ in range(3):
            charge(ledger)
    rewritten(target, statement)
    said = []
    for words in (["show"], ["show", "taps"], ["check"], ["check", "--settle"]):
        code, out, err = noisegate("ledger", *words, "--ledger", target)
        assert code in (0, 2, 3)
        said.append(out + err)
    with pytest.raises(NoisegateError) as caught, open_ledger(target) as ledger:
        charge(ledger)
    said.append(str(caught.value))
    assert not any("report" in one for one in said)
    assert any("damaged" in one or "altered" in one or "lacks" in one for one in said)
    assert "estore" in said[-1]


def test_a_ledger_with_any_byte_changed_is_read_or_called_damaged(target, charge):
    with open_ledger(target) as ledger:
        for _ in range(3):
            charge(ledger)
    whole, chance = Path(target).read_bytes(), random.Random(8)
    for _ in range(60):
        octets = bytearray(whole)
        for _ in range(chance.choice([1, 3, 40])):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        Path(target).write_bytes(
            octets[: chance.choice([len(octets), len(octets), chance.randrange(len(octets))])]
        )
        try:
            with open_ledger(target, read_only=True) as ledger:
                ledger.check()
                ledger.accounts()
            with open_ledger(target) as ledger:
                charge(ledger)
        except NoisegateError as error:
            assert not isinstance(error, InternalError)  # noqa: PT017 - most changes are found, some do not matter
