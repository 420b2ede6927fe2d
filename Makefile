# Needs make and Python 3.11 or newer. Everything else goes into .venv, which is made anew when pyproject.toml changes.

BIN := .venv/bin
SOURCES := $(shell find fluxlike broker cli -name '*.py' -o -name py.typed)
INSTALL := pip install --quiet --disable-pip-version-check

# Some environments export this. Modules without their .pyc files make every command several times slower.
unexport PYTHONDONTWRITEBYTECODE
# The package that is tested is the one that was installed, not what a path happens to point at.
unexport PYTHONPATH
# An instance that make happens to run in is no business of the tests.
unexport FLUXLIKE_URI

.PHONY: help demo test check lint bench docs clean

help:
	@echo 'make demo    start four brokers here, run jobs on them, stop'
	@echo 'make test    run all tests: unit, property, scenarios, system'
	@echo 'make check   format, lint, types, import rules, and the tests that start no broker'
	@echo 'make bench   measure an installed wheel against its budgets and its peers; BENCH=--help shows what to ask it'
	@echo 'make docs    write docs/commands.md and docs/settings.md anew'
	@echo 'make clean   remove environments, caches and built files'

demo: .venv/.package
	PATH="$(CURDIR)/$(BIN):$$PATH" fluxlike start -s 4 -- sh examples/demo.sh

test: .venv/.package .venv/.dev
	tools/test_packages.sh
	$(BIN)/pytest

check: lint
	tools/test_packages.sh
	$(BIN)/pytest -q -m 'not system'

lint: .venv/.package .venv/.dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv-bench/.package
	.venv-bench/bin/python tests/bench/run.py $(BENCH)

docs: .venv/.package
	$(BIN)/python tools/reference_pages.py docs

clean:
	rm -rf .venv .venv-bench .venv-peers .venv-wheel dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is worth keeping only if it is whole: the stamp comes last.
.venv/.made: pyproject.toml tools/venv.sh tools/install.sh
	tools/venv.sh .venv
	touch $@

.venv/.package: .venv/.made $(SOURCES)
	$(BIN)/$(INSTALL) .
	touch $@

.venv/.dev: .venv/.made | .venv/.package
	$(BIN)/$(INSTALL) '.[dev]'
	touch $@

# From a wheel, as users get it, and without the tools that tests need. Without psycopg one question stays unanswered.
.venv-bench/.package: pyproject.toml tools/venv.sh tools/install.sh $(SOURCES)
	tools/venv.sh .venv-bench
	.venv-bench/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir .venv-bench/wheel .
	.venv-bench/bin/$(INSTALL) .venv-bench/wheel/*.whl
	-.venv-bench/bin/$(INSTALL) 'psycopg[binary]'
	touch $@
