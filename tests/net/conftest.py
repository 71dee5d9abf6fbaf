"""What the nets share: the command line, seeded noise without looking inside, and golden files.

The nets hold today's outward behaviour while the house behind it is rebuilt. They use the command
line, the files that it writes and the top-level names of `noisegate`, and nothing else.

To write all golden files anew, after a change that is meant::

    pytest tests/net --rewrite

and say in the commit why they changed. The published tables under `published` are not golden
files: they were made once by `make_published.py`, and the posteriors hang on every digit of them.
"""

import contextlib
import io
import json
import math
import os
import shutil
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
#: Floats come from SciPy and from sums in some order: the last digits may differ between machines.
FLOATS = 1e-12


def pytest_addoption(parser):
    parser.addoption("--rewrite", action="store_true", help="Write the golden files of tests/net anew.")


@pytest.fixture(scope="session")
def rewrite(pytestconfig):
    # The option is known only where this folder is named on pytest's command line.
    return bool(pytestconfig.getoption("--rewrite", default=False))


# --- Golden files ---------------------------------------------------------------------------------


def differences(found, golden, *, rel, place="$"):
    """Where two JSON values differ, keys in their order, floats by a relative tolerance."""
    if isinstance(found, dict) and isinstance(golden, dict):
        if list(found) != list(golden):
            more, fewer = ([k for k in a if k not in b] for a, b in ((found, golden), (golden, found)))
            return [
                f"{place}: new keys {more}, lost keys {fewer}" + ("" if more or fewer else ", other order")
            ]
        pairs = [(f"{place}.{key}", found[key], golden[key]) for key in golden]
    elif isinstance(found, list) and isinstance(golden, list):
        if len(found) != len(golden):
            return [f"{place}: {len(found)} entries, golden {len(golden)}"]
        pairs = [(f"{place}[{n}]", *both) for n, both in enumerate(zip(found, golden, strict=True))]
    else:
        same = type(found) is type(golden) and (
            math.isclose(found, golden, rel_tol=rel) if isinstance(found, float) else found == golden
        )
        return [] if same else [f"{place}: {found!r}, golden {golden!r}"]
    return [line for where, one, other in pairs for line in differences(one, other, rel=rel, place=where)]


@pytest.fixture(scope="session")
def hold(rewrite):
    """Hold a JSON value against its golden file, or write that file."""

    def held(name, found, *, rel=FLOATS):
        file = GOLDEN / f"{name}.json"
        if rewrite:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        golden = json.loads(file.read_text(encoding="utf-8"))
        wrong = differences(json.loads(json.dumps(found)), golden, rel=rel)
        assert not wrong, "\n".join([f"{len(wrong)} differences from {file.name}:", *wrong[:20]])

    return held


@pytest.fixture(scope="session")
def hold_file(rewrite):
    """Hold the bytes of a file against those of its golden file, or write that file."""

    def held(name, file):
        golden = GOLDEN / name
        if rewrite:
            golden.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, golden)
        assert file.read_text() == golden.read_text()

    return held


def tree(value):
    """The keys and types of a JSON value, in their order.

    Entries of a list are laid over one another: a key that some of them lack gets a question mark.
    Findings and checks, which have an `id` in words, are kept apart by it.
    """
    if isinstance(value, dict):
        return {key: tree(one) for key, one in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(one, dict) and {"id", "title"} <= set(one) for one in value):
            named = defaultdict(list)
            for one in value:
                named[one["id"]].append(tree(one))
            return [{name: laid_over(named[name]) for name in sorted(named)}]
        return [laid_over([tree(one) for one in value])] if value else []
    return "null" if value is None else type(value).__name__


def laid_over(trees):
    """One tree for all of `trees`."""
    kinds = sorted({one for one in trees if isinstance(one, str)})
    tables = [one for one in trees if isinstance(one, dict)]
    lists = [one[0] for one in trees if isinstance(one, list) and one]
    merged = list(kinds)
    if any(isinstance(one, list) for one in trees):
        merged.append([laid_over(lists)] if lists else [])
    if tables:
        keys = dict.fromkeys(key for one in tables for key in one)
        merged.append(
            {
                key if all(key in one for one in tables) else f"{key}?": laid_over(
                    [one[key] for one in tables if key in one]
                )
                for key in keys
            }
        )
    if len(merged) == 1:
        return merged[0]
    return " | ".join(kinds) if len(merged) == len(kinds) else {"any of": merged}


@pytest.fixture(scope="session")
def tree_of():
    return tree


# --- The command line -----------------------------------------------------------------------------


class Octets:
    """The operating system's generator, replaced by one that a seed determines."""

    def __init__(self, seed):
        self._generator = np.random.default_rng(seed)
        self.taken = 0

    def __call__(self, count):
        self.taken += count
        return self._generator.bytes(count)


@pytest.fixture(scope="session")
def run():
    """The command line in this process, 80 columns wide; `seed` determines the noise of a release."""
    from noisegate.cli.main import main

    def run(*arguments, seed=None, code=0):
        out, err, octets = io.StringIO(), io.StringIO(), Octets(seed)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (("COLUMNS", "80"), ("TERM", "dumb"), ("NO_COLOR", "1")):
                patch.setenv(name, value)
            if seed is not None:
                patch.setattr(os, "urandom", octets)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                ended = main([str(argument) for argument in arguments])
        assert ended == code, err.getvalue()
        assert seed is None or octets.taken, "the noise no longer comes from os.urandom: seed it differently"
        return out.getvalue()

    return run


@pytest.fixture(scope="session")
def told(run, tmp_path_factory):
    """What a command printed and what it wrote with `--json`; each command runs once."""
    folder, made = tmp_path_factory.mktemp("told"), {}

    def told(*arguments):
        if arguments not in made:
            file = folder / f"{len(made)}.json"
            said = run(*arguments, "--json", file)
            made[arguments] = SimpleNamespace(said=said, content=json.loads(file.read_text()))
        return made[arguments]

    return told


# --- Things to run it on --------------------------------------------------------------------------


@pytest.fixture(scope="session")
def town(tmp_path_factory, run):
    """A folder with the taps of a few hundred cards, and a maker of seeded releases of them."""
    folder = tmp_path_factory.mktemp("town")
    for name in ("taps.csv", "stops.csv"):
        shutil.copyfile(HERE / "town" / name, folder / name)
    shapes = yaml.safe_load((HERE / "town" / "shapes.yaml").read_text())
    common, made = shapes.pop("common"), {}

    def released(shape):
        if shape not in made:
            spec = folder / f"{shape}.yaml"
            spec.write_text(yaml.safe_dump({"name": shape, **common, **shapes[shape]}, sort_keys=False))
            place = folder / shape  # of its own: a ledger looks for releases that it does not know
            place.mkdir(exist_ok=True)
            out, ledger, result = (place / name for name in ("out", "ledger.sqlite", "result.json"))
            said = run("release", spec, "--out", out, "--ledger", ledger, "--json", result, seed=17)
            made[shape] = SimpleNamespace(
                folder=out, spec=spec, ledger=ledger, said=said, result=json.loads(result.read_text())
            )
        return made[shape]

    return SimpleNamespace(folder=folder, shapes=tuple(shapes), released=released)


@pytest.fixture(scope="session")
def city(tmp_path_factory, run):
    """A simulated city with its timetable, and a seeded release of its trains and ferries as in 2016."""
    folder = tmp_path_factory.mktemp("city")
    world, out, result = folder / "world", folder / "release", folder / "world.json"
    said = run(
        "simulate", "--out", world, "--persons", 6000, "--days", 2, "--seed", 7, "--quiet", "--json", result
    )
    spec = world / "hours.yaml"
    content = yaml.safe_load((world / "spec-2016.yaml").read_text())
    content["dimensions"]["time"]["every"] = "1h"
    content["dimensions"]["mode"]["values"] = ["train", "ferry"]
    spec.write_text(yaml.safe_dump(content, sort_keys=False))
    run("release", spec, "--out", out, "--ledger", folder / "ledger.sqlite", "--quiet", seed=17)
    return SimpleNamespace(
        folder=folder, world=world, release=out, said=said, result=json.loads(result.read_text())
    )


@pytest.fixture(scope="session")
def assessed(tmp_path_factory, run):
    """Assessments, each made once: the folder, its JSON and what was printed."""
    folder, made = tmp_path_factory.mktemp("assessed"), {}

    def assessed(name, *arguments):
        if name not in made:
            said = run("assess", *arguments, "--out", folder / name, "--verbose", "--quiet")
            content = json.loads((folder / name / "assessment.json").read_text())
            made[name] = SimpleNamespace(folder=folder / name, said=said, content=content)
        return made[name]

    return assessed


@pytest.fixture(scope="session")
def published(assessed):
    """Assessments of the four published worlds beside this file."""
    more = {"linked": ("--noise", "laplace:1.4"), "one-margin": ("--noise", "laplace:1.4")}

    def of(world):
        tables = sorted((HERE / "published" / world).glob("*.csv"))
        return assessed(world, *tables, *more.get(world, ()))

    return of


@pytest.fixture(scope="session")
def city_assessed(assessed, city):
    """Assessments of the city: alone, with the raw events, with the timetable, over some weeks."""
    more = {
        "plain": (),
        "truth": ("--truth", city.world / "taps.parquet"),
        "gtfs": ("--gtfs", city.world / "gtfs.zip"),
        "weeks": ("--weeks", 8),
    }
    return lambda which: assessed(f"city-{which}", city.release, *more[which])
