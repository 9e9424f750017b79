# `make` prints what can be made. Works with the GNU make 3.81 of macOS.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
RUNTIME := .venv/.runtime
DEV := .venv/.dev
OLDEST := .venv/oldest
CODE := bot lifecycle sentinel_rules
ARGS :=
# More than a small machine has cores: a good part of the suite's time waits for sockets and disks.
JOBS := 5
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 \
	--quiet --custom-compile-command "make lock" $(UPGRADE)

.PHONY: help setup run test oldest check fmt lint type imports docs collect bench lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(DEV) ## build .venv with everything that developing needs

run: $(RUNTIME) ## start the bot with config.yaml (ARGS="--config other.yaml -v" for another)
	@exec $(BIN)/signoff run $(ARGS)

# Empty counts as unset: without bytecode each process of the tests would compile everything anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(DEV) ## run the whole test suite (ARGS="-k word" for a part, JOBS=1 for one process)
	@$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# The lower bounds of pyproject.toml are promises: what stands in the locks is the newest alone.
oldest: $(DEV) ## run the suite with the oldest packages that pyproject allows, in .venv/oldest
	@$(BIN)/uv pip compile pyproject.toml --python-version 3.11 --resolution lowest-direct \
		--quiet --output-file $(OLDEST).txt
	@$(BIN)/uv pip compile pyproject.toml --python-version 3.11 --extra dev \
		--constraint $(OLDEST).txt --quiet --output-file $(OLDEST)-dev.txt
	@$(BIN)/uv venv --quiet --clear --python 3.11 $(OLDEST)
	@$(BIN)/uv pip install --quiet --python $(OLDEST) --requirement $(OLDEST)-dev.txt
	@$(BIN)/uv pip install --quiet --python $(OLDEST) --no-deps --editable .
	@$(OLDEST)/bin/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder \
		-W "ignore:'click:DeprecationWarning" $(ARGS)

check: lint type imports docs collect ## what must hold before a commit, but for the tests

fmt: $(DEV) ## write the code the way ruff format does, sort the imports
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

lint: $(DEV) ## format and lint, changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

type: $(DEV) ## mypy, strict, for the oldest Python and for a newer one
	@$(BIN)/mypy
	@$(BIN)/mypy --python-version 3.14

imports: $(DEV) ## bot -> sentinel_rules -> lifecycle, and never back
	@$(BIN)/lint-imports --no-logo

docs: $(DEV) ## layout, vocabulary, decisions, codes: do the pages tell the truth?
	@$(BIN)/pytest -q tests/house

# It also leaves what pytest makes of each file, once, and not in every process of `make test`.
collect: export PYTHONDONTWRITEBYTECODE :=
collect: $(DEV) ## can every test be read?
	@said=$$($(BIN)/pytest --collect-only -qqq) || { echo "$$said"; exit 1; }

bench: $(RUNTIME) ## measure this machine: how many proposals a second
	@exec $(BIN)/signoff $(ARGS) bench

lock: $(DEV) ## resolve versions anew (UPGRADE=--upgrade for the newest that pyproject allows)
	@$(COMPILE) --output-file requirements.lock
	@$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## remove what tools made; data/ stays
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): pyproject.toml requirements.lock scripts/venv
	@scripts/venv requirements.lock $@

$(DEV): $(RUNTIME) requirements-dev.lock
	@scripts/venv requirements-dev.lock $@
