# The commands of this project.  `make` alone lists them.
.DEFAULT_GOAL := help
VENV ?= .venv
RUN := $(VENV)/bin/
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= python3

help:            ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

install: $(VENV)/.done  ## Make .venv and install everything into it
$(VENV)/.done: pyproject.toml
ifdef UV
	uv venv --quiet --allow-existing $(VENV)
	uv pip install --quiet --python $(RUN)python -e . --group dev
else
	$(PYTHON) -m venv $(VENV)
	$(RUN)python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RUN)python -m pip install --quiet -e . --group dev
endif
	@touch $@

run: install     ## See it: a recorded reply goes through the machine, in the terminal
	@$(RUN)minamo replay docs/example.jsonl
	@echo
	@$(RUN)minamo charts
	@echo "  pictures: diagrams/   a local Discord: minamo twin   more: minamo --help"

# Measuring coverage makes a test several times slower, so only the tests of the pure code are
# measured: they alone must reach every branch of it.
test: check      ## Everything a change must pass: format, lint, types, charts, tests, coverage
	$(RUN)pytest -q -n 2 -m "not slow" --ignore=tests/unit --ignore=tests/wire
	rm -f .coverage .coverage.*
	$(RUN)coverage run -m pytest -q -n 2 -m "not slow" tests/unit tests/wire
	$(RUN)coverage combine -q
	$(RUN)coverage report --include="*/minamo/machine/*,*/minamo/core/*,*/minamo/wire/*" --fail-under=100

check: install   ## The quick part of it: format, lint, types, imports, charts and diagrams
	$(RUN)ruff format --check
	$(RUN)ruff check
	$(RUN)mypy
	$(RUN)lint-imports --no-cache
	$(RUN)minamo charts --check

fix: install     ## Format, and fix what can be fixed by itself
	$(RUN)ruff format
	$(RUN)ruff check --fix

diagrams: install  ## Draw diagrams/ anew from statecharts/
	$(RUN)minamo charts --write

promises: install  ## The slow suites: every promise with its full figure
	$(RUN)pytest -q -n 2 -m "slow or not slow" --hypothesis-profile=promises

bench: install   ## Measure
	$(RUN)minamo bench machine
	$(RUN)minamo bench text
	$(RUN)minamo bench ingest
	$(RUN)minamo bench delivery

.PHONY: help install run test check fix diagrams promises bench
