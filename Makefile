# make demo   set up, explain a real model, save a picture
# make test   set up, check and test everything
PYTHON ?= python3
VENV := .venv
CORE := .venv-core

.PHONY: demo test test-core lint

demo: $(VENV)/.demo
	$(VENV)/bin/python examples/quickstart.py

test: $(VENV)/.test lint
	$(VENV)/bin/python -m pytest

# The engine from its wheel, on numpy 2, with no extras.
test-core: $(CORE)/.ready
	$(CORE)/bin/python -m pytest tests/core

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "installing into $(VENV): a minute or two"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[sktime,plot]"
	touch $@

$(VENV)/.test: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "installing everything into $(VENV): about three minutes"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[all,test]"
	touch $@ $(VENV)/.demo

$(CORE)/.ready: pyproject.toml constraints-core.txt $(shell find core -name '*.py')
	$(PYTHON) -m venv --clear $(CORE)
	$(CORE)/bin/python -m pip install --quiet --upgrade pip
	$(CORE)/bin/python -m pip install --quiet -c constraints-core.txt pytest hypothesis .
	touch $@
