# Everything works from a bare clone with Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test long test-lower test-upper quick quick-lower quick-upper properties checks check lint types layers format docs links bare bench fuzz recorded kills lowest versions limits wheel weights lock promises clean

demo: $(VENV)/.installed
	$(BIN)/lacunet demo

# Everything but studies over many data sets and most pages: the lower layers beside all the rest.
EVERY := "not long and not pages"
LOWER := tests/data tests/models tests/formats tests/inference tests/fitting tests/scores tests/structure tests/selection
HALF := $(LOWER) tests/evidence tests/fuzz tests/paper tests/robust  # of the time that everything takes, about

# Both halves at once: BLAS threads of either would only be in each other's way.
test quick: export OMP_NUM_THREADS := 1
test quick: export OPENBLAS_NUM_THREADS := 1

test: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 test-lower test-upper

test-lower:
	$(BIN)/python -m pytest -m $(EVERY) $(HALF)

test-upper:
	$(BIN)/python -m pytest -m $(EVERY) src/lacunet tests $(HALF:%=--ignore=%)

# Studies over many data sets, and commands that are killed.
long: $(VENV)/.dev
	$(BIN)/python -m pytest -m long tests

# While you work, within a minute: no slow tests, few random examples.
QUICK := -q -m "not slow and not long" --hypothesis-profile=quick

quick: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 quick-lower quick-upper

quick-lower:
	$(BIN)/python -m pytest $(QUICK) $(LOWER)

quick-upper:
	$(BIN)/python -m pytest $(QUICK) src/lacunet tests $(LOWER:%=--ignore=%)

# Ten times as many random examples of everything that is tested by them: an hour or two.
properties: $(VENV)/.dev
	$(BIN)/python -m pytest -q --hypothesis-profile=thorough tests

# Every scikit-learn check of every estimator with its usual settings: some minutes.
checks: $(VENV)/.dev
	LACUNET_CHECKS=full $(BIN)/python -m pytest tests/estimators/test_sklearn_checks.py

check: lint types layers

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tests/words.py

# The package by our own settings; a project of a user by mypy's, strictly.
types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy --config-file= --strict examples

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site, and the code on its pages.
docs: $(VENV)/.docs $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going --quiet docs build/docs
	$(BIN)/python -m pytest -q -m pages tests/docs

links: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going --quiet -b linkcheck docs build/links

# In a minimal Debian, made by debootstrap: the demo, a report, all tests; or COMMAND alone.
bare:
	tests/bare.sh $(COMMAND)

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

# Coverage-guided, SECONDS for each reader and the command line; what it finds is in build/fuzz. Then
# LINES random command lines on random tables: a failure names its seed and the lines.
SECONDS ?= 60
LINES ?= 3000
fuzz: $(VENV)/.dev
	-$(PIP) install 'atheris>=3'
	cd tests && ../$(BIN)/python -m fuzz $(SECONDS) --keep ../build/fuzz
	cd tests && ../$(BIN)/python -m fuzz.command_lines --first 100000 --number $(LINES)

# Runs of every command and estimator: does a change of the code change a number?
recorded: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m recorded compare

# kill -9, KILLS times each, and the same result in the end.
KILLS ?= 100
kills: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m robust.kills $(KILLS)

# The lowest versions that pyproject.toml declares.
SAMPLE := tests/data tests/formats tests/models tests/inference tests/cli/test_cli_errors.py tests/robust
SAMPLE += --ignore=tests/formats/test_formats_programs.py  # which needs other programs
ELSEWHERE := pytest hypothesis pandas pyarrow

lowest: build/lowest/.installed
	build/lowest/bin/python -m pytest -W ignore::DeprecationWarning $(QUICK) $(SAMPLE)

build/lowest/.installed: pyproject.toml
	$(PYTHON) -m venv build/lowest
	$(PYTHON) tests/lowest.py sklearn networkx > build/lowest/lowest.txt
	build/lowest/bin/pip install --quiet -r build/lowest/lowest.txt -e . $(ELSEWHERE)
	touch $@

# Other versions of Python: those of pyenv, or `make versions PYTHONS="python3.12 python3.13"`.
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python)
versions:
	@for python in $(PYTHONS); do \
	  home=build/$$($$python -c 'import sys; print("python-%d.%d" % sys.version_info[:2])') && echo $$home && \
	  $$python -m venv $$home && $$home/bin/pip install --quiet -e '.[networkx,sklearn]' $(ELSEWHERE) && \
	  $$home/bin/python -m pytest $(QUICK) $(SAMPLE) || exit 1; \
	done

# What is too large for 2 GB: an answer or a sentence, in time. The table of docs/explanation/promises.md.
limits: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m robust.limits

# Wheel and sdist; the wheel in an empty environment, and there the demo and tests of it, not of src.
WHEEL := build/wheel
wheel: | $(BIN)/python
	$(PIP) install build
	rm -rf build/dist $(WHEEL)
	$(BIN)/python -m build --outdir build/dist .
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/pip install --quiet build/dist/lacunet-*.whl
	cd $(WHEEL) && bin/lacunet --version && bin/lacunet demo --save demo
	$(WHEEL)/bin/pip install --quiet "$$(echo build/dist/lacunet-*.whl)[networkx,report,sklearn]" pytest hypothesis pandas pyarrow
	cd $(WHEEL) && bin/python -c 'import lacunet; assert "site-packages" in lacunet.__file__, lacunet.__file__'
	$(WHEEL)/bin/python -P -m pytest $(QUICK) $(SAMPLE) tests/estimators/test_estimators.py

# What the package and each extra weigh: the table of docs/index.md.
weights: | $(BIN)/python
	$(BIN)/python tests/weights.py

# What CI and developers have installed, to the last digit: `pip install -r requirements-dev.txt`.
lock: $(VENV)/.dev
	$(BIN)/python -m pip freeze --exclude-editable > requirements-dev.txt

# The table of docs/explanation/promises.md.
promises: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m robust.promises

clean:
	rm -rf $(VENV) .venv-peers lacunet-demo bench/results build
