"""The examples in the docstrings of public names give what they say."""

import doctest
import inspect

import pytest

import noisegate

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
JOBS = [
    "assess",
    "mechanism",
    "open_ledger",
    "open_release",
    "read_tables",
    "recover",
    "release",
    "reproduce",
    "simulate",
]


@pytest.mark.parametrize("name", noisegate.__all__)
def test_the_examples_of_a_public_name_hold(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = getattr(noisegate, name)
    names = {**vars(inspect.getmodule(thing)), name: thing}
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), names, name, None, 0)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(noisegate, name))
