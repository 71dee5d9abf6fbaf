"""Printing where there is a browser, where there is none, and where it fails."""

import pytest

from noisegate.report import VARIABLE, browser_command, find_browser, print_report, write_report


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


@pytest.fixture
def folder(only, tmp_path):
    """A directory with a report."""
    made = tmp_path / "report"
    made.mkdir()
    write_report(only(), made)
    return made


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_the_report_is_printed_if_there_is_a_browser(program, folder):
    program(COPY)
    assert print_report(folder) == ""
    assert names(folder) == ["report.html", "report.md", "report.pdf"]


def test_without_a_browser_the_report_is_whole_and_says_how_to_print_it(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, "/nowhere/chromium")
    note = print_report(folder)
    assert names(folder) == ["report.html", "report.md"]
    assert note.startswith("No report.pdf: there is no Chromium here. Install one")


@pytest.mark.parametrize("lines", ["exit 1", "true"])
def test_a_browser_that_fails_leaves_no_file_and_a_sentence(program, folder, lines):
    program(lines)
    assert "print" in print_report(folder)
    assert names(folder) == ["report.html", "report.md"]


def test_the_browser_named_by_the_user_is_taken_and_its_sandbox_stays_unless_root(
    program, tmp_path, monkeypatch
):
    program("true")
    assert find_browser() == tmp_path / "chromium"
    for user, bare in ((0, True), (1000, False)):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        assert ("--no-sandbox" in browser_command(tmp_path, tmp_path)) is bare
