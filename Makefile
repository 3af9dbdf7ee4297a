# Everything works from a bare clone with Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-lower test-upper quick quick-lower quick-upper recorded check lint types layers format docs links bench clean

demo: $(VENV)/.installed
	$(BIN)/lacunet demo

# Everything: the lower layers beside all the rest.
LOWER := tests/data tests/model tests/formats tests/inference tests/learn tests/scores tests/graphs tests/search
HALF := $(LOWER) tests/evidence  # of the time that everything takes, about

test: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 test-lower test-upper

test-lower:
	$(BIN)/python -m pytest $(HALF)

test-upper:
	$(BIN)/python -m pytest src/lacunet tests $(HALF:%=--ignore=%)

# While you work, within a minute: no slow tests, few random examples.
QUICK := -q -m "not slow" --hypothesis-profile=quick

quick: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 quick-lower quick-upper

quick-lower:
	$(BIN)/python -m pytest $(QUICK) $(LOWER)

quick-upper:
	$(BIN)/python -m pytest $(QUICK) src/lacunet tests $(LOWER:%=--ignore=%)

recorded: $(VENV)/.dev
	$(BIN)/python tests/recorded/compare.py

check: lint types layers

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going --quiet docs build/docs

links: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going --quiet -b linkcheck docs build/links

bench: $(VENV)/.installed
	$(BIN)/python -m bench $(BENCH)

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Lacunet needs Python 3.11 or newer; run make PYTHON=python3.12"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) install -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.installed
	$(PIP) install -e '.[dev]'
	touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.installed
	$(PIP) install -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .venv-peers lacunet-demo bench/results build
