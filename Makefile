# The commands of this project.  `make` alone lists them.
.DEFAULT_GOAL := help
VENV ?= .venv
RUN := $(VENV)/bin/
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= python3
BEGAN := $(shell date +%s)

# Modules are compiled once, not by each of the hundreds of processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

# pip asks nothing and reports errors only.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_NO_WARN_SCRIPT_LOCATION := 1
export PIP_ROOT_USER_ACTION := ignore

help:            ## Show this list
	@$(PYTHON) -c 'import re; [print(f"{name:14}{what}") for name, what in re.findall(r"(?m)^([a-z-]+):.*?##\s*(.*)", open("Makefile").read())]'

# $(call install,environment,packages,what): install them, with a dot every two seconds.
ifdef UV
make_venv = uv venv --quiet --allow-existing $(1)
add = uv pip install --quiet --python $(1)/bin/python $(2)
else
make_venv = $(PYTHON) -m venv $(1)
add = $(1)/bin/python -m pip install -qq --upgrade 'pip>=25.1' && $(1)/bin/python -m pip install -qq $(2)
endif
define install
@printf '%s' "installing $(3) into $(1) "
@(while sleep 2; do printf .; done) & dots=$$!; \
	$(call make_venv,$(1)) && $(call add,$(1),$(2)); code=$$?; kill $$dots; echo; exit $$code
@touch $@
endef

install: $(VENV)/.done  ## Make .venv and install everything into it
$(VENV)/.done: $(VENV)/.ready
	$(call install,$(VENV),-e . --group dev,the tools to work on it)

# What a bot needs, without the tools to work on it.
$(VENV)/.ready: pyproject.toml
	$(call install,$(VENV),-e .,minamo)

run: $(VENV)/.ready  ## See it: a local Discord, the bot, the live page; with DISCORD_TOKEN set, the real one
	@$(RUN)minamo run $(ARGS)

# Every branch of the pure code must be reached, by its own tests.  They run by themselves: measuring
# makes a test several times slower.  The other tests wait half of their time, for sockets, clocks
# and other programs, so there are more of them at a time than a small machine has processors.
# The tests of a file run in one process, which makes its browser, servers and pictures once.
PURE := tests/core tests/machine tests/wire
OTHERS := --ignore=tests/oldest $(PURE:%=--ignore=%)
PYTEST = $(RUN)pytest -q --dist loadfile --no-loadscope-reorder -m "not slow" --proof=$(BEGAN)
test: lint       ## Everything a change must pass: format, lint, types, charts, tests, coverage
	$(call beside_types,$(PYTEST) -n 2 $(PURE) --cov --cov-report=term-missing:skip-covered,$(COMPILE))
	@$(PYTEST) -n 6 $(OTHERS)

quick: lint      ## Format, lint, types, charts, and the tests of the pure code
	$(call beside_types,$(PYTEST) -n 2 $(PURE))

# In a fresh clone one process compiles the tests, not each of those that run them.
COMPILE := $(if $(wildcard tests/bot/__pycache__),:,$(RUN)pytest -q --collect-only $(OTHERS) >build/collected.txt)

# $(call beside_types,command,more): run it while mypy, which uses one processor, looks at the types.
TYPES := build/types.txt
define beside_types
@mkdir -p build; ($(RUN)mypy >$(TYPES) 2>&1; code=$$?; $(if $(2),$(2);) exit $$code) & types=$$!; \
	$(1); code=$$?; wait $$types || code=$$?; cat $(TYPES); exit $$code
endef

# The oldest hikari that is promised, and lightbulb, which wants no newer one.
OLDEST := .venv-oldest
oldest: $(OLDEST)/.done  ## The tests of the Discord side once more, with the oldest hikari
	@$(OLDEST)/bin/pytest -q -n 6 --dist loadfile --no-loadscope-reorder -m "not slow" --proof=$(BEGAN) tests/oldest tests/shell/delivery tests/shell/discord \
		tests/shell/test_client_streams.py --ignore=tests/shell/discord/test_client_private.py
$(OLDEST)/.done: pyproject.toml
	$(call install,$(OLDEST),-e . --group oldest,minamo with the oldest hikari)

# Servers of other projects that speak our dialects, in an environment of their own.
SERVERS := .venv-servers
servers: install $(SERVERS)/.done  ## Every dialect once more, with aimock and litellm's proxy: text, tools, errors
	@CI=true $(RUN)pytest -q -m slow tests/judge/test_servers.py
$(SERVERS)/.done: pyproject.toml
	$(call install,$(SERVERS),--group servers,the servers of other projects)

check: lint      ## Format, lint, types, imports, charts and diagrams, without a test
	$(RUN)mypy

# What takes a second each.
lint: install
	$(RUN)ruff format --check
	$(RUN)ruff check
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

lowest: install  ## Try the wheel with the lowest and the highest versions of its dependencies, and the steps of the Dockerfile
	$(RUN)pytest -q -m slow tests/contract/test_release.py tests/bot/test_settings.py tests/twin/test_use.py

audit: install   ## Known vulnerabilities and licences of everything that a bot installs
	$(RUN)pytest -q -m "slow or not slow" tests/contract/test_audit.py

# New seeds each time.  A failure prints the command that meets its case first.  PUBLISH=1 puts the
# whole runs of the commit on docs/promises.md.
promises: install  ## Every promise with its figure, in 15 minutes; K=p03 for one, SEED=… to repeat, FULL=1, HOURS=1 to soak
	@$(RUN)python tests/promises/run.py $(if $(SEED),--seed $(SEED)) $(if $(K),--only '$(K)') \
		$(if $(HOURS),--hours $(HOURS)) $(if $(FULL),--full) $(if $(FUZZ),--fuzz $(FUZZ)) $(if $(PUBLISH),--publish)

# PUBLISH=1, on a machine that does nothing else, puts the table and the picture on docs/promises.md.
soak: install    ## Two shards, provider, Discord and Redis as processes, under load and faults; MINUTES=10 STREAMS=200 SEED=…
	@PYTHONPATH=tests:. $(RUN)python -m soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(STREAMS),--streams $(STREAMS)) \
		$(if $(SEED),--seed $(SEED)) $(if $(PUBLISH),--publish)

mutants: install  ## Break the code that each promise guards, in a copy, and see its tests fail; K=p07 for one
	@$(RUN)python tests/promises/mutants.py $(if $(SEED),--seed $(SEED)) $(if $(K),--only '$(K)') $(if $(PUBLISH),--publish)

# In about two seconds for each change, after some minutes in which the tests are measured.  AGAIN=1
# only explains the last report anew, from tests/promises/lives.json.
mutation: install  ## Change the pure code in N=400 places, one at a time, and see how many changes its tests catch; SEED=… for others
	@$(RUN)python tests/promises/mutation.py $(if $(SEED),--seed $(SEED)) $(if $(N),--count $(N)) $(if $(AGAIN),--again) $(if $(PUBLISH),--publish)

# Peers are installed from the package indexes into build/bench.  On a machine that does nothing else:
# the figures of the run replace those in docs/performance.md.
bench: install   ## Measure beside the peers, in about twenty minutes, and write docs/performance.md; QUICK=1: shorter, writes nothing; K=ingest for one
	$(RUN)python -m benchmarks $(K) $(if $(QUICK),--quick,$(if $(K),,--publish))

bench-check: install  ## A quick subset, without peers, against the stored ratios; fails at a loss of 25 %
	$(RUN)python -m benchmarks --check

.PHONY: help install run test quick oldest servers check lint fix screenshots diagrams docs dist lowest audit promises soak mutants mutation bench bench-check
