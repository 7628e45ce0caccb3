# Everything runs in a virtual environment of its own (.venv), made on first use; needs git, make and Python >= 3.11.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(BIN)/python -m
FORMATS := sha256 reftable partial
# What depends most on how a repository is stored; `CORTEX_TEST_FORMAT=sha256 pytest` runs everything so.
STORED := $(addprefix tests/test_,alignment.py alignment_flows.py hooks.py formats.py worktrees.py corrections.py sharing.py stage.py)
PYTHON ?= $(shell for name in python3 python python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$name"; break; }; done)

.PHONY: dev test test-all demo bench calibrate lint types docs man build clean

dev: $(READY)

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "git-cortex needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -m venv --clear $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Installing git-cortex and its tools into $(VENV) ..."
	@$(RUNS) pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(RUNS) pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(READY)

test: lint types
	$(RUNS) pytest -q -n 2 -m "not slow"

test-all: lint types
	CLAUDE_CLI="$$(.ci/client)" $(RUNS) pytest -q -n 2 --hypothesis-profile=random
	@for format in $(FORMATS); do \
		echo "Once more, in repositories of the format $$format:"; \
		CORTEX_TEST_FORMAT=$$format $(RUNS) pytest -q -n 2 -m "not slow" $(STORED) || exit 1; \
	done

demo: $(READY)
	@$(BIN)/python docs/demo/demo.py

bench: $(READY)
	$(BIN)/python bench/run.py $(ARGS)

# Fits the weights of what prose is weighed by; needs the labelled texts beside the project.
calibrate: $(READY)
	$(BIN)/python bench/extraction/calibrate.py

lint: $(READY)
	$(RUNS) ruff check .
	$(BIN)/lint-imports --no-logo

types: $(READY)
	$(RUNS) mypy

docs: man
	$(RUNS) pytest -q tests/test_docs.py

man: $(READY)
	$(BIN)/python docs/make_man.py man/git-cortex.1

build: $(READY)
	$(RUNS) build --outdir dist

clean:
	rm -rf .venv .venv-client build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
