"""Printing where there is a browser, where there is none, and where it fails."""

import pytest

from noisegate.report import write_report
from noisegate.report.pdf import VARIABLE, browser_command, find_browser


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program that stands in for the browser."""

    def make(lines):
        file = tmp_path / "chromium"
        file.write_text(f"#!/bin/sh\n{lines}\n")
        file.chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(file))

    return make


COPY = 'for one in "$@"; do case "$one" in --print-to-pdf=*) echo "%PDF-" > "${one#--print-to-pdf=}";; esac; done'


def test_the_report_is_printed_if_there_is_a_browser(program, assessed):
    program(COPY)
    written = write_report(assessed({"tables": []}), pdf=True)
    assert [file.name for file in written.files] == ["report.html", "report.md", "report.pdf"]
    assert written.note == ""
    assert all(file.is_file() for file in written.files)


def test_without_a_browser_the_report_is_whole_and_says_how_to_print_it(assessed, monkeypatch):
    monkeypatch.setenv(VARIABLE, "/nowhere/chromium")
    written = write_report(assessed({"tables": []}), pdf=True)
    assert [file.name for file in written.files] == ["report.html", "report.md"]
    assert written.note.startswith("No report.pdf: there is no Chromium here. Install one")


@pytest.mark.parametrize("lines", ["exit 1", "true"])
def test_a_browser_that_fails_leaves_no_file_and_a_sentence(program, assessed, lines):
    program(lines)
    written = write_report(assessed({"tables": []}), pdf=True)
    assert len(written.files) == 2
    assert "print" in written.note


def test_nothing_is_printed_unless_asked(program, assessed):
    program(COPY)
    assert len(write_report(assessed({"tables": []})).files) == 2


def test_the_browser_named_by_the_user_is_taken_and_its_sandbox_stays_unless_root(
    program, tmp_path, monkeypatch
):
    program("true")
    assert find_browser() == tmp_path / "chromium"
    for user, bare in ((0, True), (1000, False)):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        assert ("--no-sandbox" in browser_command(tmp_path, tmp_path)) is bare
