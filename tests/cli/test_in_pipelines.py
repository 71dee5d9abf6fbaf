"""In other people's pipelines: the action for GitHub and the fixture for pytest."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
HIDDEN = "area,sex,count\nA,m,5\nA,f,7\nA,total,12\nB,m,1\nB,f,..\nB,total,3\n"
OPEN = "area,count\nA,5\nB,7\n"
FOUND = any(one.name == "noisegate" for one in metadata.entry_points(group="pytest11"))


@pytest.fixture
def run(pytester):
    """A stranger's tests, with the fixture as pytest finds it."""
    by_name = [] if FOUND else ["-p", "noisegate.pytest_plugin"]

    def run(code):
        pytester.makepyfile(code)
        (pytester.path / "hidden.csv").write_text(HIDDEN)
        (pytester.path / "open.csv").write_text(OPEN)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *by_name)

    return run


def test_tables_that_give_too_much_away_fail_a_test(run):
    done = run("def test(noisegate_assess):\n    noisegate_assess('hidden.csv', fail_on='medium')")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*fail on medium: known-exactly*", "MEDIUM known-exactly*", "*Advice:*"])


def test_others_pass_and_the_assessment_comes_back(run):
    done = run(
        """
        def test_nothing_found(noisegate_assess):
            found = noisegate_assess(["open.csv"], attacker=None)
            assert found.failures("low") == []

        def test_never_fails(noisegate_assess):
            assert noisegate_assess("hidden.csv", fail_on=None).finding("known-exactly")
        """
    )
    done.assert_outcomes(passed=2)


def test_what_nobody_examined_can_fail_too(run):
    run(
        "def test(noisegate_assess):\n    noisegate_assess('open.csv', fail_on='unrecognised')"
    ).assert_outcomes(failed=1)


def test_pytest_finds_the_fixture_and_it_costs_nothing():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert content["project"]["entry-points"]["pytest11"] == {"noisegate": "noisegate.pytest_plugin"}
    code = "import sys, noisegate.pytest_plugin; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def test_every_input_is_described_and_used(action):
    text = (ROOT / "action.yml").read_text()
    for name, one in action["inputs"].items():
        assert one["description"]
        assert one.get("required") or "default" in one
        assert f"inputs.{name}" in text


def test_inputs_never_stand_in_a_script(action):
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"])


@pytest.mark.parametrize(
    ("tables", "gate", "code"),
    [("*.csv\n", "medium", 3), ("with space.csv", "medium", 3), ("*.csv", "", 0), ("none.csv", "high", 2)],
)
def test_its_script_assesses_and_fails(action, tmp_path, tables, gate, code):
    (step,) = [one for one in action["runs"]["steps"] if one.get("name") == "assess"]
    (tmp_path / "with space.csv").write_text(HIDDEN)
    summary = tmp_path / "summary.md"
    program = Path(sys.executable).with_name("noisegate")
    if not program.exists():
        pytest.skip("noisegate is not installed as a program here")
    done = subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "TABLES": tables,
            "FAIL_ON": gate,
            "OPTIONS": "--attacker\nnone\n",
            "SARIF": "found.sarif",
            "GITHUB_STEP_SUMMARY": str(summary),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if code != 2:
        log = json.loads((tmp_path / "found.sarif").read_text())
        assert "known-exactly" in {one["ruleId"] for one in log["runs"][0]["results"]}
        assert "known-exactly" in summary.read_text()


def test_a_reader_that_goes_away_does_not_open_a_gate(tmp_path):
    """`noisegate assess … --fail-on medium | head -1`: the rest is done, and the gate still says no."""
    (tmp_path / "hidden.csv").write_text(HIDDEN)
    read, write = os.pipe()
    command = [sys.executable, "-c", "from noisegate.cli.main import run; run()", "assess", "hidden.csv"]
    command += ["--fail-on", "medium", "--json", "out.json"]
    done = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(read)
    os.close(write)
    said = done.communicate()[1].decode()
    assert done.returncode == 3
    assert "known-exactly" in said
    assert json.loads((tmp_path / "out.json").read_text())["findings"]
