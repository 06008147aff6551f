# SPDX-License-Identifier: Apache-2.0
# make setup | test | lint | demo | clean. AIT_PYTHON selects the interpreter, PYTEST_ARGS goes to pytest.

SHELL := /bin/bash
AIT_PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(patsubst %/pyproject.toml,%,$(wildcard ait_*/pyproject.toml))
REQUIREMENTS := $(wildcard requirements/*.txt)
# What an editable install depends on: everything else in the packages is used where it lies.
INPUTS := $(wildcard ait_*/pyproject.toml) $(REQUIREMENTS) $(wildcard ait_core/CMakeLists.txt) \
  $(wildcard ait_runtime/src/ait_runtime/binding/* ait_runtime/src/ait_runtime/include/ait/*)
STAMP := $(VENV)/ready-$(shell (echo "$(CURDIR) $(AIT_PYTHON)"; cat Makefile $(INPUTS)) | sha256sum | cut -c1-16)
JOBS ?= 2

.PHONY: setup test lint demo clean

setup: $(STAMP)

$(STAMP):
	@command -v "$(AIT_PYTHON)" >/dev/null || \
	  { echo "No $(AIT_PYTHON): install Python 3.10 or newer (apt-get install python3 python3-venv), or set AIT_PYTHON." >&2; exit 1; }
	@"$(AIT_PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "AIT needs Python 3.10 or newer; $(AIT_PYTHON) is $$("$(AIT_PYTHON)" --version 2>&1). Set AIT_PYTHON." >&2; exit 1; }
	@"$(AIT_PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(AIT_PYTHON) has no venv module: apt-get install python3-venv" >&2; exit 1; }
	@command -v "$${CXX:-g++}" >/dev/null || \
	  { echo "No C++ compiler $${CXX:-g++}: apt-get install g++, or set CXX." >&2; exit 1; }
	@rm -f $(VENV)/ready-*
	@want=$$("$(AIT_PYTHON)" -c 'import sys; print(sys.version)'); \
	  have=$$($(BIN)/python -c 'import sys; print(sys.version)' 2>/dev/null || true); \
	  [ "$$want" = "$$have" ] || "$(AIT_PYTHON)" -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  $(addprefix -e ./,$(PACKAGES)) $(addprefix -r ,$(filter-out requirements/build.txt,$(REQUIREMENTS)))
	@touch $@
	@echo "Ready: $(BIN)/ait"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

demo: setup
	$(BIN)/python examples/minilm/demo.py

clean:
	rm -rf $(VENV) out build dist ait_*/build ait_*/dist .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
