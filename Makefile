PYTHON ?= python3
VENV ?= .venv
# Where pip takes torch from. For a machine without a GPU:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Tests start many processes; without it each of them would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types coverage dist smoke smoke-quick bench bench-scaling gallery clean

demo: $(VENV)/.installed
	$(VENV)/bin/paceline run quickstart

test: $(VENV)/.developed
	$(VENV)/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

lint: $(VENV)/.developed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.developed
	$(VENV)/bin/mypy

coverage: $(VENV)/.developed
	$(VENV)/bin/python -m pytest --cov=paceline --cov-report=term-missing:skip-covered

# Wheel and sdist, the wheel from the sdist.
dist: $(VENV)/.developed
	rm -rf dist
	$(VENV)/bin/python -m build --quiet --no-isolation --outdir dist .

# The wheel with all it needs in an empty environment; smoke-quick sees what it needs in $(VENV).
smoke: dist
	TORCH_INDEX=$(TORCH_INDEX) .ci/smoke dist $(VENV)

smoke-quick: dist
	.ci/smoke dist $(VENV) --borrow

bench: $(VENV)/.benched
	$(VENV)/bin/python -m bench $(ONLY)

# Predictions for several devices against measurements. Emulated nodes need root and `ip`; without, the page says so.
bench-scaling: $(VENV)/.benched
	$(VENV)/bin/python -m bench scaling

# Pages of docs/gallery from the data kept beside them, or anew from the records in RUNS; then what pages written by
# hand say of them.
gallery: $(VENV)/.installed
	$(VENV)/bin/python docs/gallery.py $(RUNS)
	$(VENV)/bin/python docs/fill.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# torch first and by itself, so that its index serves nothing else.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(PIP) --editable .
	touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	touch $@

# The tools that the benchmark is compared with.
$(VENV)/.benched: $(VENV)/.developed bench/requirements.txt
	$(PIP) --requirement bench/requirements.txt
	touch $@
