# Everything a developer does here is a target; `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
WORKERS := $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help setup run test check format lock openapi bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.venv/.runs: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	touch $@

.venv/.develops: requirements-dev.lock .venv/.runs
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

setup: .venv/.develops  ## make .venv with everything in it

run: .venv/.runs  ## set up if needed, then serve on http://127.0.0.1:8400
	$(BIN)/plugboard serve

test: .venv/.develops  ## set up if needed, then every test that needs nothing but Python
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

check: .venv/.develops  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.develops  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: .venv/.runs  ## write openapi.yaml anew from the code
	$(BIN)/python -m api.http.contract > openapi.yaml

bench: .venv/.develops  ## measure, as ratios to a bare route in the same run
	$(BIN)/python -m bench $(ARGS)

lock: .venv/.develops  ## resolve the dependencies anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--no-annotate --extra build pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--no-annotate --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:  ## remove what was made, except data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache *.egg-info
