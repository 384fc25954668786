# Everything a developer does here is a target; `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Two more than there are cores, because many tests wait. Each takes whole modules while it can: `--dist worksteal`.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate

.DEFAULT_GOAL := help
# Python keeps what it has compiled, whatever the shell says: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=
.PHONY: help setup run demo demo-oauth test test-real conformance check format openapi fuzz stalls bench lock release clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 13

# The three files under .venv say what is installed, and when: nothing is done again until a lock file changes. Two
# commands that are started together, such as `make run` and `make demo`, install in turn.
IN_TURN := $(PYTHON) -c 'import fcntl, os, sys; lock = os.open(".venv.lock", os.O_CREAT | os.O_RDWR); \
  os.set_inheritable(lock, True); fcntl.flock(lock, fcntl.LOCK_EX); os.execvp(sys.argv[1], sys.argv[1:])'

ifndef HAS_TURN
.venv/.runs: requirements.lock pyproject.toml
	@$(IN_TURN) $(MAKE) -s HAS_TURN=1 $@

.venv/.develops: requirements-dev.lock .venv/.runs
	@$(IN_TURN) $(MAKE) -s HAS_TURN=1 $@

.venv/.demonstrates: demo/requirements.lock .venv/.runs
	@$(IN_TURN) $(MAKE) -s HAS_TURN=1 $@
else
.venv/.runs: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Plugboard needs Python 3.11 or later: make PYTHON=python3.11")'
	@echo 'Setting up .venv, once.'
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --no-index -e .
	@touch $@

.venv/.develops: requirements-dev.lock .venv/.runs
	@echo 'Adding what tests and checks need.'
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

.venv/.demonstrates: demo/requirements.lock .venv/.runs
	@$(PIP) --require-hashes -r demo/requirements.lock
	@touch $@
endif

setup: .venv/.develops  ## make .venv with everything in it

run: .venv/.runs  ## set up if needed, then serve on http://127.0.0.1:8400
	@$(BIN)/plugboard serve

demo: .venv/.runs  ## a small MCP server to try Plugboard with, on http://127.0.0.1:8401/mcp
	@$(BIN)/python -m demo.weather $(ARGS)

demo-oauth: .venv/.demonstrates  ## the five services and an MCP server to try Connect with, and data for their tools, on http://127.0.0.1:8402
	@$(BIN)/python -m demo.oauth_provider.server --consent page $(ARGS)

test: .venv/.develops  ## set up if needed, then the tests that need nothing but Python, except the slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# The bridge needs an older SDK than the servers that it bridges to, so each has an environment of its own.
.venv/real/%/.made: tests/real/%.lock
	@echo 'Setting up $(@D).'
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json
	@cd $* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

test-real: .venv/.develops .venv/real/servers/.made .venv/real/proxy/.made .venv/real/clients/.made tests/real/node_modules/.package-lock.json  ## the whole way to MCP servers and with clients that others wrote (needs Node)
	$(BIN)/python -m pytest -n $(WORKERS) tests/real $(ARGS)

conformance: .venv/.develops tests/tools/node_modules/.package-lock.json  ## hold the upstream client to MCP's own conformance suite (needs Node)
	$(BIN)/python -m tests.conformance.run

fuzz: .venv/.develops  ## call a served Plugboard in all the ways of its contract, and against it
	$(BIN)/python -m tests.fuzz.run_schemathesis $(ARGS)

stalls: .venv/.develops  ## look for inputs that hold the event loop
	$(BIN)/python -m tests.fuzz.run_stalls $(ARGS)

check: .venv/.develops  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.develops  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: .venv/.runs  ## write openapi.yaml anew from the code
	$(BIN)/plugboard openapi > openapi.yaml.new
	mv openapi.yaml.new openapi.yaml

bench: .venv/.develops  ## measure, as ratios to a bare route in the same run
	$(BIN)/python -m bench $(ARGS)

lock: .venv/.develops  ## resolve the dependencies anew (needs uv)
	$(LOCK) --extra build pyproject.toml -o requirements.lock
	$(LOCK) --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(LOCK) -c requirements-dev.lock demo/requirements.in -o demo/requirements.lock
	$(LOCK) tests/real/servers.in -o tests/real/servers.lock
	$(LOCK) tests/real/proxy.in -o tests/real/proxy.lock
	$(LOCK) tests/real/clients.in -o tests/real/clients.lock

release: .venv/.develops  ## the wheel, its lock file, SBOM and checksums, in dist/
	@$(BIN)/python -m release $(ARGS)

clean:  ## remove what was made, except data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache *.egg-info
