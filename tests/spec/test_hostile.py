"""Specs, values files and overrides that were written to do harm: one sentence, quickly, in little memory."""

import os
import time
from pathlib import Path

import pytest

from noisegate.errors import InputError, SpecError
from noisegate.reading import load_overrides
from noisegate.spec import load_spec, parse_spec

GOOD = """\
name: lines
events: {source: taps.csv, person: card}
dimensions:
  stop: {column: stop, values: VALUES}
tables: {base: [stop]}
privacy: {unit: person, max_cells: 1, epsilon: 1}
"""


def bomb(levels, *, width=10):
    """Aliases that stand for `width` ** `levels` values once they are written out."""
    lines = ["a0: &a0 [" + ", ".join("x" * width) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def sentence(read, *arguments, **options):
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        read(*arguments, **options)
    assert time.monotonic() - began < 10
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


HOSTILE = {
    "a billion by aliases": bomb(9),
    "a billion as values": bomb(9) + GOOD.replace("VALUES", "*a8"),
    "an alias of itself": "a: &a [*a]",
    "a key of itself": "a: &a {b: *a}",
    "a hundred thousand brackets": "[" * 100_000,
    "a hundred thousand brackets, closed": "[" * 100_000 + "]" * 100_000,
    "a hundred thousand blocks": "{a: " * 100_000,
    "deep by aliases": "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000))]),
    "half a character": GOOD.replace("VALUES", '["\\ud800"]'),
    "half a character as a key": '"\\udfff": 1',
    "a tag that makes objects": "!!python/object/apply:os.system ['true']",
    "no text": "\0\1\2",
    "a long number": "name: " + "9" * 100_000,
    "merged by a bomb": bomb(9) + "b: {<<: *a8}",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_spec(tmp_path, what):
    (tmp_path / "spec.yaml").write_text(HOSTILE[what], encoding="utf-8")
    sentence(load_spec, tmp_path / "spec.yaml")
    sentence(load_overrides, tmp_path / "spec.yaml")


def test_aliases_that_say_little_are_fine(tmp_path):
    text = GOOD.replace("VALUES", "&stops [A, B]").replace("tables:", "merge: []\ntables:")
    spec = parse_spec(text, folder=tmp_path)
    assert spec.dimensions["stop"].values == ("A", "B")


@pytest.mark.parametrize(
    "place", ["/dev/zero", "/dev/stdin", "pipe", "folder", "missing", "x\0y", "/proc/self/mem"]
)
def test_what_is_no_file(tmp_path, place):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    sentence(load_spec, tmp_path / place)
    sentence(load_overrides, tmp_path / place)
    sentence(
        parse_spec,
        {**_document(), "dimensions": {"stop": {"column": "stop", "values": place}}},
        folder=tmp_path,
    )


def _document():
    return {
        "name": "lines",
        "events": {"source": "taps.csv", "person": "card"},
        "tables": {"base": ["stop"]},
        "privacy": {"unit": "person", "max_cells": 1, "epsilon": "1"},
    }


def test_a_spec_of_many_megabytes(tmp_path):
    (tmp_path / "spec.yaml").write_bytes(b"a: [" + b"x, " * 3_000_000 + b"]")
    assert "is longer than 2 MB; put long lists of values into a CSV file" in sentence(
        load_spec, tmp_path / "spec.yaml"
    )


def test_a_file_of_values_that_never_ends(tmp_path):
    with (tmp_path / "stops.csv").open("wb") as file:
        file.truncate(300 << 20)
    document = {**_document(), "dimensions": {"stop": {"column": "stop", "values": "stops.csv"}}}
    assert "is longer than 256 MiB" in sentence(parse_spec, document, folder=tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"a,b\n\xed\xa0\x80,x\n", b'"', b"a\0b\n", b"stop\nA\nA\n", b"\r\r\r", b"a,b\nc,d,e\n"],
)
def test_a_file_of_values_that_is_none(tmp_path, content):
    (tmp_path / "stops.csv").write_bytes(content)
    document = {**_document(), "dimensions": {"stop": {"column": "stop", "values": "stops.csv"}}}
    try:
        parse_spec(document, folder=tmp_path)
    except SpecError as refused:
        assert "stops.csv" in str(refused)  # noqa: PT017 - some bytes are values


def test_a_marked_file_gives_no_values(tmp_path):
    (tmp_path / "stops.csv").write_text("stop\nA\n# for the custodian only\n")
    document = {**_document(), "dimensions": {"stop": {"column": "stop", "values": "stops.csv"}}}
    assert "marked 'for the custodian only'" in sentence(parse_spec, document, folder=Path(tmp_path))
