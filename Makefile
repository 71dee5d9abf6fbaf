# Two commands do all the set-up: `make demo` and `make test`.
# The rest is for people who work on noisegate; see CONTRIBUTING.md.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# Test workers: every core, each with single-threaded linear algebra.
JOBS ?= auto
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-engines test-all test-core lint types bench bench-peers calibrate chaos fuzz docs gallery pictures site lock sbom clean audit

demo: .venv/run.stamp
	$(BIN)/noisegate demo

test: lint types
	$(BIN)/pytest -n $(JOBS) -m "not slow"

test-all: lint types
	$(BIN)/pytest -n $(JOBS)

# The core ring alone, in an environment that has nothing but NumPy, SciPy and Numba.
test-core: .venv-core/test.stamp
	PYTHONPATH=src .venv-core/bin/pytest -q tests/core

lint: .venv/test.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: .venv/test.stamp
	$(BIN)/mypy

bench: .venv/test.stamp
	$(BIN)/python bench/run.py

# The field side by side: DuckDB, OpenDP, Tumult, diffprivlib, mbi, pytauargus on the same events, each in an environment of its own below
# .venv-peers; who does not install is left out, with the reason. Then the page with the figures. Tumult needs Java.
bench-peers: .venv/test.stamp
	$(BIN)/python bench/peers.py
	$(BIN)/python docs/_make/peers_page.py

# Faults injected under 500 releases and their ledgers; prints the table of attempts and keeps it in the page. Needs no network,
# and a PostgreSQL server (initdb, pg_ctl) only for the fault that restarts one.
chaos: .venv/test.stamp
	$(BIN)/python tests/chaos/attempts.py --runs 500 --write docs/explanation/faults.md

# A lower bound on the epsilon of our own releases, from spec to files, and planted faults that it must catch.
audit: .venv/test.stamp
	$(BIN)/python tests/audit/audit.py --repeats 100

# Every test of the engines, and releases of 2 million events on a Spark cluster of two workers and on a PostgreSQL server, both started
# here on loopback, with an executor, the driver and the server killed. Needs Java (17 or newer), pyspark, initdb and pg_ctl; what is
# missing would only be skipped, so it is asked for first.
test-engines: .venv/test.stamp
	@$(BIN)/python -c "import pyspark, grpc, psycopg" || { echo "make test-engines needs Spark: $(BIN)/pip install '.[spark]'"; exit 1; }
	@for one in java initdb pg_ctl; do command -v $$one > /dev/null || { echo "make test-engines needs $$one on the path"; exit 1; }; done
	NOISEGATE_CLUSTER_EVENTS=$(or $(EVENTS),2000000) $(BIN)/pytest -q tests/engine

# A hundred thousand damaged inputs for everything that reads what others wrote.
fuzz: .venv/test.stamp
	$(BIN)/pytest -n $(JOBS) tests/fuzz

# How often intervals hold the truth in worlds of every shape: docs/explanation/calibration.md, in about ten minutes.
calibrate: .venv/run.stamp
	$(BIN)/python docs/_make/calibration.py

# The screenshots of README and docs, made from a demo of their own: needs Chromium, Node with `npm ci` in frontend, and some minutes.
pictures: .venv/test.stamp
	rm -rf .pictures-demo
	$(BIN)/python docs/_make/screenshots.py --keep .pictures-demo
	$(BIN)/python docs/_make/workbench_shots.py .pictures-demo
	rm -rf .pictures-demo

# The reference and the pictures of the attack and of the engine, made from the code; `make pictures` makes the screenshots.
docs: .venv/run.stamp
	$(BIN)/python docs/_make/reference.py
	$(BIN)/python docs/_make/notebooks.py
	$(BIN)/python docs/_make/attack_pictures.py
	$(BIN)/python docs/_make/inference_pictures.py
	$(BIN)/python docs/_make/gallery.py
	$(BIN)/python docs/_make/peers_page.py

# Twelve releases taken apart, each a page with a picture; real tables are read from ../shared/data where they are present.
gallery: .venv/run.stamp
	$(BIN)/python docs/_make/gallery.py

# The documentation as pages that need no network and no server: open site/index.html.
site: .venv/test.stamp
	$(BIN)/python docs/_make/site.py

# Pin everything anew from the bounds in pyproject.toml: the tests' needs first, so that what
# runs is a subset of what is tested.
COMPILE := $(BIN)/pip-compile -q --generate-hashes --strip-extras --allow-unsafe \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --build-deps-for editable
lock: .venv/test.stamp
	CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --upgrade --extra test -o requirements/test.txt pyproject.toml
	CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) -c requirements/test.txt -o requirements/run.txt pyproject.toml

# What the lock installs, as a bill of materials and as a list of licences.
sbom: .venv/run.stamp
	$(BIN)/python docs/_make/sbom.py

clean:
	rm -rf .venv .venv-core .venv-peers noisegate-demo*

.venv/bin/python:
	@echo "creating .venv (first run only)"
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@echo "installing noisegate and what it runs on"
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/test.stamp: requirements/test.txt .venv/run.stamp
	@echo "installing what the tests use"
	$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@

# The same versions as everywhere, as constraints, which pip wants without hashes.
.venv-core/test.stamp: requirements/test.txt pyproject.toml
	$(PYTHON) -m venv .venv-core
	sed -n 's/^\([A-Za-z0-9._-]*==[^ ]*\).*/\1/p' requirements/test.txt > .venv-core/constraints.txt
	.venv-core/bin/pip --disable-pip-version-check --quiet install -c .venv-core/constraints.txt \
	  numpy scipy numba pytest hypothesis mpmath
	@touch $@
