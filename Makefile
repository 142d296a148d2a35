# Everything a person or CI does with a checkout. Needs make and Python 3.11 or newer; the first target run sets the rest up.
#   make demo PYTHON=/usr/bin/python3.12 DATA=DIR      another interpreter, another folder for what the demo leaves

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
LOCK := requirements/all.txt
JOBS ?= 2
PIP := $(RUN) -m pip --disable-pip-version-check --no-input install --quiet
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
DATA ?= pairmark-data
HOST ?= 127.0.0.1
PORT ?= 8000
SECONDS ?= 1800

# The first of these that runs and is new enough, unless PYTHON says which.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$each; break; }; done)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

# --- set-up: once per lock file -------------------------------------------------------------------------------------------

$(VENV)/made:
	@if [ -z "$(PYTHON)" ]; then echo 'expected Python 3.11 or newer on the path, found none; give it as PYTHON=...' >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("expected Python 3.11 or newer, found " + sys.version.split()[0] + "; give another as PYTHON=...")'
	@$(RUN) -m pip --version >/dev/null 2>&1 || { echo 'Making the environment in $(VENV)'; $(PYTHON) -m venv --clear $(VENV); }
	@touch $@

$(VENV)/locked: $(LOCK) $(VENV)/made
	@echo 'Installing the pinned packages (a minute or two, once)'
	@$(PIP) --require-hashes -r $(LOCK)
	@touch $@

$(VENV)/installed: $(VENV)/locked pyproject.toml
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: setup
setup: $(VENV)/installed ## set up the environment (every other target does it when needed)

# --- what people run ------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/installed ## the whole story, offline, no key
	@$(BIN)/pairmark demo --data $(DATA)

.PHONY: serve
serve: $(VENV)/installed ## the service on this machine
	@$(BIN)/pairmark serve --host $(HOST) --port $(PORT)

.PHONY: test
test: $(VENV)/installed ## every test but the slow ones
	@$(RUN) -m pytest -n $(JOBS) --dist worksteal -m 'not slow'

.PHONY: test-all
test-all: $(VENV)/installed ## every test
	@$(RUN) -m pytest -n $(JOBS) --dist worksteal

.PHONY: check
check: $(VENV)/installed ## lint, types, layers, generated files
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(RUN) -m pairmark.adapters.schemas --check
	@$(RUN) tools/openapi.py --check

.PHONY: fix
fix: $(VENV)/installed ## repair what ruff can repair
	@$(BIN)/ruff check --fix .

.PHONY: schemas
schemas: $(VENV)/installed ## write schemas/ from the models
	@$(RUN) -m pairmark.adapters.schemas --write
	@$(RUN) tools/openapi.py --write

.PHONY: bench
bench: $(VENV)/installed ## speed and size as ratios against bare libraries
	@for each in bench/*.py; do echo "== $$each"; $(RUN) "$$each"; done

.PHONY: soak
soak: $(VENV)/installed ## work a real server for SECONDS (1800) and see that what it holds stays flat
	@$(RUN) tools/soak.py $(SECONDS)

.PHONY: wheel
wheel: $(VENV)/installed ## build dist/*.whl
	@$(RUN) -m build --wheel --no-isolation --outdir dist .

.PHONY: lock
lock: $(VENV)/installed ## resolve the locks again from pyproject.toml (UPGRADE=--upgrade for newer versions)
	@$(COMPILE) $(UPGRADE) pyproject.toml --group dev --all-extras -o requirements/all.txt
	@$(COMPILE) pyproject.toml --group dev -c requirements/all.txt -o requirements/dev.txt
	@$(COMPILE) pyproject.toml -c requirements/all.txt -o requirements/runtime.txt

.PHONY: clean
clean: ## remove what was built, but not the environment
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find service tests migrations -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
