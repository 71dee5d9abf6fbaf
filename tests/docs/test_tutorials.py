"""The tutorials run as they are written, in order, and print what they show.

A block marked `console` holds commands after `$ ` and, below each, what it prints. A line `...` stands for any lines, `...`
within a line for any text. In a block marked `console noisy` numbers may differ as noise makes them differ. Blocks marked
`pycon` are Python sessions in the same directory.
"""

import contextlib
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
FRAME = re.compile(r"[\s─━┃│┏┓┗┛┡┩╇┳└┘┴├┤┼╭╮╰╯]+")


def blocks(text):
    return re.findall(r"^```(console noisy|console|pycon)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(block):
    """Each command of a block with the lines it should print; a here-document belongs to its command."""
    found, end = [], None
    for line in block.splitlines():
        if end is not None:
            found[-1][0].append(line)
            end = None if line == end else end
        elif line.startswith("$ "):
            found.append(([line.removeprefix("$ ")], []))
            inside = re.search(r"<<'(\w+)'", line)
            end = inside.group(1) if inside else None
        elif found and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return [("\n".join(command), shown) for command, shown in found]


def words(line):
    return FRAME.sub(" ", line).split()


def same(shown, printed, *, noisy):
    """Whether a printed line is the one that is shown."""
    parts, numbers = [], []
    for word in words(shown):
        number = word.strip("(),;:%.")
        if noisy and "..." not in word and NUMBER.fullmatch(number):
            before, after = map(re.escape, word.split(number, 1))
            parts.append(f"{before}({NUMBER.pattern}){after}")
            numbers.append(number)
        else:
            parts.append(re.escape(word).replace(re.escape("..."), ".*"))
    found = re.fullmatch(" ".join(parts), " ".join(words(printed)))
    return found is not None and all(map(near, numbers, found.groups()))


def near(shown, printed):
    """Whether two numbers are as close as noise leaves them."""
    a, b = (float(text.replace(",", "")) for text in (shown, printed))
    return abs(a - b) <= max(6.0, 0.25 * max(abs(a), abs(b)))


def missing(shown, printed, *, noisy):
    """The first run of shown lines that is not printed after the one before; empty if all are."""
    lines = [line for line in printed.splitlines() if words(line)]
    start = 0
    for part in "\n".join(shown).split("\n...\n") if shown else []:
        run = [line for line in part.splitlines() if words(line) and line.strip() != "..."]
        places = range(start, len(lines) - len(run) + 1)
        at = next(
            (k for k in places if all(same(s, p, noisy=noisy) for s, p in zip(run, lines[k:], strict=False))),
            None,
        )
        if at is None:
            return run
        start = at + len(run)
    return []


class WithdrawnError(Exception):
    """The noise of this release fell so that its own checks withdraw an answer, as the page says they do now and then."""


def run_console(block, folder, *, noisy):
    variables = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NOISEGATE_LEDGER": str(folder / "ledger.sqlite"),
        "COLUMNS": "100",
    }
    for command, shown in commands(block):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        lost = missing(shown, done.stdout, noisy=noisy)
        if lost and noisy and "not told" in done.stdout:
            raise WithdrawnError
        assert not lost, f"$ {command}\ndoes not print\n{chr(10).join(lost)}\nbut\n{done.stdout}"


def run_session(block, names):
    test = doctest.DocTestParser().get_doctest(block, names, "session", None, 0)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


class Tutorial:
    """A tutorial as it is worked through: sections are run once, in order, in a folder of their own."""

    def __init__(self, page, folder):
        self.sections = re.split(r"^(?=## )", page.read_text(), flags=re.MULTILINE)
        self.folder, self.names, self.done = folder, {}, 0

    def run(self, section, *, tries=4):
        """Run a section, and before it those that were not run yet; all anew, with other noise, if an answer is withdrawn."""
        try:
            with contextlib.chdir(self.folder):
                self._run(section)
        except WithdrawnError:
            assert tries > 1, "the checks withdraw an answer of every release"
            self.folder, self.names, self.done = self.folder / "anew", {}, 0
            self.folder.mkdir()
            self.run(section, tries=tries - 1)

    def _run(self, section):
        while self.done <= section:
            found = blocks(self.sections[self.done])
            self.done += 1
            for kind, block in found:
                if kind == "pycon":
                    run_session(block, self.names)
                else:
                    run_console(block, self.folder, noisy="noisy" in kind)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    return {page.stem: Tutorial(page, tmp_path_factory.mktemp(page.stem)) for page in TUTORIALS}


def sections():
    """Every section of every tutorial that has something to run."""
    return [
        pytest.param(page.stem, number, id=f"{page.stem}-{number}")
        for page in TUTORIALS
        for number, text in enumerate(re.split(r"^(?=## )", page.read_text(), flags=re.MULTILINE))
        if blocks(text)
    ]


@pytest.mark.parametrize(("page", "section"), list(sections()))
def test_a_tutorial_runs_and_prints_what_it_shows(page, section, begun):
    begun[page].run(section)


def test_there_is_one_for_each_user():
    assert [page.stem for page in TUTORIALS] == ["analyst", "assessor", "custodian"]


@pytest.mark.parametrize(
    ("shown", "printed", "noisy", "fits"),
    [
        ("a 12 b", "a  12 b", False, True),
        ("a 12 b", "a 13 b", False, False),
        ("│ bus │ 1,200 │", "┃ bus ┃ 1,290 ┃", True, True),
        ("│ bus │ 1,200 │", "┃ bus ┃ 2,290 ┃", True, False),
        ("│ bus │ 1,200 │", "┃ train ┃ 1,200 ┃", True, False),
        ("scale ... of 1.4", "scale and law of 1.4", False, True),
        ("scale ... of 1.4", "scale and law of 1.5", False, False),
        ("scale ... of 140", "scale and law of 150", True, True),
        ("scale ... of 140", "scale and law of 250", True, False),
        ("on 2016-07-25", "on 2016-07-26", True, False),
    ],
)
def test_lines_are_compared_as_promised(shown, printed, noisy, fits):
    assert same(shown, printed, noisy=noisy) is fits


def test_runs_of_lines_are_found_in_order_and_without_gaps():
    printed = "one\ntwo\nthree\nfour\n"
    assert not missing(["one", "two", "...", "four"], printed, noisy=False)
    assert missing(["one", "three"], printed, noisy=False) == ["one", "three"]
    assert missing(["three", "...", "one"], printed, noisy=False) == ["one"]


def test_commands_take_their_here_documents_and_outputs():
    block = "$ cat > a <<'END'\nx: 1\nEND\n$ cat a \\\n  b\nx: 1\n"
    assert commands(block) == [("cat > a <<'END'\nx: 1\nEND", []), ("cat a \\\n  b", ["x: 1"])]
