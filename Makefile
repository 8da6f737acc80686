# Two commands to know: `make trial` and `make test`. Each does all the set-up itself and skips what is done.
#   PYTHON=/path/to/python3.12   interpreter for a new .venv (3.11 or 3.12; found on the PATH otherwise)
#   VENV=.venv-NAME             another environment beside .venv, with another PYTHON
#   CPU=1                        `make models` with the CPU build of PyTorch
#   WORKERS=1                    `make test` in one process instead of three (for --pdb, -s)
#   ARGS="..."                   further arguments of `make trial` (such as --tour) and `make test` (pytest)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup models pyiqa libero trial test test-setup check stress lint types bench mutants clean distclean constraints wheel docs docs-setup
# A variable of this common name in the environment may be somebody else's.
ifneq ($(origin VENV),command line)
VENV := $(filter .venv-%,$(VENV))
endif
export PYTHON VENV
# Many container images set it: then each of the tests' processes compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# `export` defines VENV, as empty where nobody set it.
ENVIRONMENT := $(or $(VENV),.venv)/bin
ARGS ?=
ROOM ?=
# One more than the processors of a small machine: a test waits for a third of its time.
WORKERS ?= 3

help: ## show this
	@echo "usage: make TARGET [PYTHON=...] [ARGS=...]"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 16

setup: ## make .venv, install the pinned packages, build the ROS interfaces
	@bash scripts/setup.sh

models: ## make setup, and install what large models need (torch, transformers)
	@bash scripts/setup.sh --models $(if $(CPU),--cpu)

pyiqa: setup ## make .venv-pyiqa, an environment of its own for the metrics of IQA-PyTorch (noncommercial licence)
	@CPU=$(CPU) bash scripts/setup_pyiqa.sh

libero: setup ## make .venv-libero, an environment of its own for the tasks of LIBERO (2.1 GB, MIT licence)
	@bash scripts/setup_libero.sh

trial: setup ## run a simulated trial through the ROS graph: images, scores, report in runs/
	@$(ENVIRONMENT)/embodied-iqa trial $(ARGS)

lint: setup ## ruff: rules and format
	$(ENVIRONMENT)/ruff check .
	$(ENVIRONMENT)/ruff format --check .

types: setup ## mypy, strict
	$(ENVIRONMENT)/mypy

test: test-setup ## every test: style (ruff, mypy strict, layering), unit, ROS graph, faults
	@echo "tests are collected first, without a line: some seconds, minutes on a busy machine"
	$(ENVIRONMENT)/python -m pytest --strict-skips --workers $(WORKERS) $(ARGS)

test-setup: docs-setup # what tests need beyond `make models`: Ray, Chromium for the tests of pages, and what builds the site
	@bash scripts/setup.sh --models --ray --browser $(if $(CPU),--cpu)

check: test-setup ## ruff, mypy and the tests that a change can reach: make check ARGS="--base HEAD~3 --list"
	@PYTHONPATH=scripts $(ENVIRONMENT)/python -m reach --workers $(WORKERS) $(ARGS)

stress: test-setup ## repeat live and wall-clock tests beside busy processes: make stress ARGS="--repeats 5 tests/ros"
	@PYTHONPATH=scripts $(ENVIRONMENT)/python -m stress $(ARGS)

bench: setup ## run every benchmark that takes minutes, others by name; tables and JSON go to benchmarks/results/
	@$(ENVIRONMENT)/python scripts/run_benchmarks.py $(ARGS)

mutants: setup ## which changes of the source no test notices: make mutants ROOM="gate robot" ARGS="--sample 50"
	@PYTHONPATH=scripts $(ENVIRONMENT)/python -m mutants $(ROOM) $(ARGS)

wheel: setup ## build the wheel and try it in clean environments, newest and lowest versions: make wheel ARGS="gate data"
	@$(ENVIRONMENT)/python scripts/check_wheel.py $(ARGS)

docs: docs-setup ## build the documentation site into .build/site, with an environment of its own; no warning is allowed
	@.venv-docs/bin/python scripts/docs_site.py

docs-setup: # the environment of `make docs`
	@bash scripts/setup_docs.sh

constraints: ## lock what the pins pull in, with hashes (after changing a pin)
	@test -x $(ENVIRONMENT)/uv || bash scripts/setup.sh
	@$(ENVIRONMENT)/python scripts/write_constraints.py

clean: ## remove caches and build trees; .venv and runs/ stay
	rm -rf .build build install log .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -path './.venv*' -prune -o -name __pycache__ -type d -print0 | xargs -0r rm -rf
	find . -path './.venv*' -prune -o -name '*.egg-info' -type d -print0 | xargs -0r rm -rf

distclean: clean ## remove .venv and its siblings too; runs/ stays
	rm -rf .venv .venv.begun .venv-*
