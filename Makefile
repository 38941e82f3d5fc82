# Every target that needs Python packages makes the environment first, once.
# Another interpreter or folder: make test PYTHON=python3.12 VENV=.venv-3.12
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed

DEMO := results/demo
PYTEST := $(RUN) -m pytest -n auto --maxprocesses 8

# Else each of the many processes that tests start compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

# Tests on real images of MNIST read them here, and skip where there are none.
ifneq ($(wildcard ../shared/data/mnist/MNIST),)
export STABLE_NALU_MNIST ?= $(abspath ../shared/data/mnist)
endif

.PHONY: help demo test test-fast test-slow lint format types bench generated board gallery docs check clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo       set up, reproduce a figure in miniature: train, export, summarise, draw, compare'
	@echo 'make test       set up, run all tests'
	@echo 'make test-fast  the tests for while you work, under three minutes'
	@echo 'make test-slow  only the slow ones: trains every stored reference run'
	@echo 'make lint       ruff: rules and format, changes nothing'
	@echo 'make format     ruff: rewrite'
	@echo 'make types      pyright'
	@echo 'make bench      speed beside hand-written loops, and its goals'
	@echo 'make generated  rewrite generated tables and files'
	@echo 'make board      rank all units and submissions in docs/board.html'
	@echo 'make gallery    draw the figures of docs/gallery from the kept results'
	@echo 'make docs       build the documentation as a searchable site in results/site'
	@echo 'make check      lint, types, stale generated files, fast tests; changes nothing'
	@echo 'make clean      remove the environment and caches (runs and results stay)'

# Touched last, so that an installation that failed is tried again.
$(INSTALLED): setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	  "stable-nalu needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	@rm -f '$@'
	$(PYTHON) -m venv '$(VENV)'
	$(RUN) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[dev]'
	@touch '$@'

demo: $(INSTALLED)
	$(RUN) experiments/reproduce.py robust-benchmark_sltr_mul --model NMU --model RealNPU \
	  --seeds 0-4 --max-iterations 25000 --format png --out '$(DEMO)'

test: $(INSTALLED)
	$(PYTEST) -m ''

test-fast: $(INSTALLED)
	$(PYTEST)

test-slow: $(INSTALLED)
	$(PYTEST) -m slow

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

types: $(INSTALLED)
	$(RUN) -m pyright --pythonpath $(RUN)

bench: $(INSTALLED)
	$(RUN) -m benchmarks

generated board: $(INSTALLED)
	$(RUN) -m tools.generated

gallery: $(INSTALLED)
	$(RUN) -m tools.gallery

# Packages of the site are installed by this target alone.
docs: $(INSTALLED)
	$(RUN) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet
	@echo 'Read it at http://localhost:8000: python3 -m http.server --directory results/site'

check: lint types
	$(RUN) -m tools.generated --check
	$(PYTEST)

clean:
	rm -rf '$(VENV)' build dist stable_nalu.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -exec rm -rf {} +
