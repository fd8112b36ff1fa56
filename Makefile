# The commands of this project.  `make` alone lists them.
.DEFAULT_GOAL := help
VENV ?= .venv
RUN := $(VENV)/bin/
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= python3

help:            ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

install: $(VENV)/.done  ## Make .venv and install everything into it
$(VENV)/.done: $(VENV)/.ready
ifdef UV
	uv pip install --quiet --python $(RUN)python -e . --group dev
else
	$(RUN)python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RUN)python -m pip install --quiet -e . --group dev
endif
	@touch $@

# What a bot needs, without the tools to work on it.
$(VENV)/.ready: pyproject.toml
	@echo "installing into $(VENV) ..."
ifdef UV
	uv venv --quiet --allow-existing $(VENV)
	uv pip install --quiet --python $(RUN)python -e .
else
	$(PYTHON) -m venv $(VENV)
	$(RUN)python -m pip install --quiet --disable-pip-version-check -e .
endif
	@touch $@

run: $(VENV)/.ready  ## See it: a local Discord, the bot, the live page; with DISCORD_TOKEN set, the real one
	@$(RUN)minamo run $(ARGS)

# Measuring coverage makes a test several times slower, so only the tests of the pure code are
# measured: they alone must reach every branch of it.
test: check      ## Everything a change must pass: format, lint, types, charts, tests, coverage
	$(RUN)pytest -q -n 2 -m "not slow" --ignore=tests/machine --ignore=tests/core --ignore=tests/wire --ignore=tests/oldest
	rm -f .coverage .coverage.*
	$(RUN)coverage run -m pytest -q -n 2 -m "not slow" tests/machine tests/core tests/wire
	$(RUN)coverage combine -q
	$(RUN)coverage report --include="*/minamo/machine/*,*/minamo/core/*,*/minamo/wire/*" --fail-under=100

# The oldest hikari that is promised, and lightbulb, which wants no newer one.
OLDEST := .venv-oldest
oldest: $(OLDEST)/.done  ## The tests of the Discord side once more, with the oldest hikari
	$(OLDEST)/bin/pytest -q -n 2 -m "not slow" tests/oldest tests/shell/delivery tests/shell/discord \
		tests/shell/test_client_streams.py --ignore=tests/shell/discord/test_frameworks.py
$(OLDEST)/.done: pyproject.toml
ifdef UV
	uv venv --quiet --allow-existing $(OLDEST)
	uv pip install --quiet --python $(OLDEST)/bin/python -e . --group oldest
else
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(OLDEST)/bin/python -m pip install --quiet -e . --group oldest
endif
	@touch $@

check: install   ## The quick part of it: format, lint, types, imports, charts and diagrams
	$(RUN)ruff format --check
	$(RUN)ruff check
	$(RUN)mypy
	$(RUN)lint-imports --no-cache
	$(RUN)minamo charts --check

fix: install     ## Format, and fix what can be fixed by itself
	$(RUN)ruff format
	$(RUN)ruff check --fix

screenshots: install  ## Take the pictures of the live page anew, with a real browser
	$(RUN)python tests/browser/screenshots.py docs/pictures

diagrams: install  ## Draw diagrams/ anew from statecharts/
	$(RUN)minamo charts --write

docs: install    ## Build the documentation into build/docs; open build/docs/index.html
	$(RUN)sphinx-build -W --keep-going -q -b html docs build/docs

dist: install    ## Build what would be uploaded into dist/, and check it
	rm -rf dist
	$(RUN)python -m hatchling build
	$(RUN)twine check --strict dist/*

lowest: install  ## Try the wheel with the lowest and the highest versions of its dependencies
	$(RUN)pytest -q -m slow tests/contract/test_release.py

audit: install   ## Known vulnerabilities and licences of everything that a bot installs
	$(RUN)pytest -q -m "slow or not slow" tests/contract/test_audit.py

# New dice each time.  Whatever fails names the seed of its case, and SEED=that begins there.
ifndef SEED
SEED := $(shell date +%s)
endif
promises: install  ## Every promise with its full figure; K=p03 for one of them, SEED=… to repeat a run
	@echo "SEED=$(SEED)"
	MINAMO_SEED=$(SEED) $(RUN)pytest -q -n 2 --maxschedchunk=1 --progress -m "slow or not slow" --timeout=900 \
		$(if $(K),-k '$(K)') --hypothesis-profile=promises --hypothesis-seed=$(SEED) --ignore=tests/oldest

bench: install   ## Measure
	$(RUN)minamo bench machine
	$(RUN)minamo bench text
	$(RUN)minamo bench ingest
	$(RUN)minamo bench delivery
	$(RUN)minamo bench load

.PHONY: help install run test oldest check fix screenshots diagrams docs dist lowest audit promises bench
