# `make` alone lists the targets. PYTHON is the interpreter that a new environment is made with.
PYTHON ?= python3
VENV := .venv
CORE := .venv-core
PEERS := .venv-peers
COMPARED := build/compare
JOBS ?= 2
# Succeeds on a Python that numpy 1 has a build for.
OLD = $(VENV)/bin/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))'

.PHONY: help demo check test test-core lint browser docs compare evidence

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s%s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Each sets up what it needs. Another Python, for a new set-up: make demo PYTHON=python3.12"

demo: $(VENV)/.demo ## explain a real model, save a picture (Python 3.10 to 3.13)
	$(VENV)/bin/python examples/quickstart.py

# One thread a worker, so that the workers do not share out more threads than there are cores.
check: $(VENV)/.test lint ## style, types and the quick tests, in under two minutes
	HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -m "not slow and not cluster" -n $(JOBS)

test: $(VENV)/.test lint ## style, types and all tests (those of alibi on Python 3.10 to 3.12)
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n $(JOBS) --dist loadfile

# From the wheel, on numpy 2, with no extras: what the smallest installation has.
test-core: $(CORE)/.ready ## the tests of the engine alone
	$(CORE)/bin/python -m pytest tests/core

# Every numpy annotates itself in another way: the types are right by the one that alibi needs.
lint: $(VENV)/.test ## style and types only (types on Python 3.10 to 3.12)
	$(VENV)/bin/ruff check .
	@if $(OLD); then echo $(VENV)/bin/mypy; $(VENV)/bin/mypy; else echo "types are checked with numpy 1, on Python 3.10 to 3.12: left out here"; fi

# The page is tested in it; without it those tests are skipped, where CI=true they fail.
browser: ## Chromium and its driver from Debian's packages, for the tests of the page (as root)
	@if command -v chromium && command -v chromedriver; then echo "is installed"; else apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; fi

# The variable silences a notice of the theme's authors about another of their products.
docs: $(VENV)/.docs ## the site, in build/site; open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict
	@echo "open build/site/index.html; with search: $(VENV)/bin/python -m http.server -d build/site"

# The same saved case in two environments, since alibi and DiCE need numpy 1 and tscf-eval needs numpy 2.
compare: export PYTHONPATH = $(CURDIR):$(CURDIR)/core
compare: export OMP_NUM_THREADS = 1
compare: $(VENV)/.test $(PEERS)/.ready ## ours beside alibi, DiCE and tscf-eval on real series, in comparison.html, in two minutes (Python 3.11)
	@echo "Eight explainers on three series of a smart watch: two minutes on two free cores, once all is installed"
	@mkdir -p $(COMPARED) && date +%s > $(COMPARED)/began
	$(VENV)/bin/python benchmarks/peers/cases.py --named --n 3 --out $(COMPARED)
	$(VENV)/bin/python benchmarks/peers/run.py --folder $(COMPARED) --out $(COMPARED)/peers --again --max-seconds 15 \
		--methods "NTD-CFE (simplest)" NTD-CFE CFRL "DiCE random" "DiCE genetic"
	$(PEERS)/bin/python benchmarks/peers/run.py --folder $(COMPARED) --out $(COMPARED)/peers --again --max-seconds 15 \
		--methods CoMTE TSEvo CFWoT
	$(VENV)/bin/python benchmarks/peers/merge.py --folder $(COMPARED) --results $(COMPARED)/peers \
		--html BasicMotions/random_forest --page comparison.html > $(COMPARED)/tables.txt
	@echo "comparison.html: made in $$(( $$(date +%s) - $$(cat $(COMPARED)/began) )) s; open it in a browser"

evidence: $(VENV)/.test ## measure the results again: all, or some by NAMES="..."
	$(VENV)/bin/python benchmarks/evidence.py $(NAMES)

$(PEERS)/.ready: benchmarks/peers/requirements-numpy2.txt benchmarks/peers/requirements-numpy2-alone.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade pip
	$(PEERS)/bin/python -m pip install --quiet -r benchmarks/peers/requirements-numpy2.txt
	$(PEERS)/bin/python -m pip install --quiet --no-deps -r benchmarks/peers/requirements-numpy2-alone.txt
	touch $@

$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "installing into $(VENV): a minute or two"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[sktime,plot]"
	touch $@

# The extra `all` leaves alibi out from Python 3.13 on: it needs numpy 1, which has no build there.
$(VENV)/.test: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "installing everything into $(VENV): about three minutes"
	@$(OLD) || echo "without alibi, which needs numpy 1, so Python 3.10 to 3.12: its tests are skipped"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[all,test]"
	touch $@ $(VENV)/.demo

$(VENV)/.docs: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "installing what the site needs into $(VENV)"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

$(CORE)/.ready: pyproject.toml constraints-core.txt $(shell find core -name '*.py')
	$(PYTHON) -m venv --clear $(CORE)
	$(CORE)/bin/python -m pip install --quiet --upgrade pip
	$(CORE)/bin/python -m pip install --quiet -c constraints-core.txt pytest hypothesis .
	touch $@
