# The commands of the project. Each does its own set-up: it needs git, make, a C compiler, rustup's
# Rust, Python 3.11 or newer and the package registries; Go where the Go worker is wanted.

SHELL := /bin/sh
PYTHON := .venv/bin/python
LAB := .venv/bin/mldsa-lab
ACVP := target/vectors/acvp-mldsa.json
ARGS ?= --quick

.PHONY: help bench test test-rust test-workers test-go test-lab lint setup vectors mutants clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1#/p' Makefile | column -t -s '#'

bench: setup ## measure every implementation: the quick profile, or ARGS="..."
	@$(LAB) bench $(ARGS)

test: test-rust test-workers test-go test-lab ## everything that shows the project to be right

test-rust: vectors ## the library and the oracle, on every backend of this CPU
	cargo test --locked -p mldsa-lanes -p mldsa-oracle

# In the environment and folder of the lab's own builds, so that the peers are compiled once.
test-workers: setup ## the Rust worker, the broken workers and the protocol's conformance
	@$(PYTHON) -m mldsa_lab.run.build --test rust

test-go: ## the Go worker, where Go is installed
	@if command -v go >/dev/null 2>&1; then \
	  cd workers/go && GOTOOLCHAIN=local go vet ./... && GOTOOLCHAIN=local go test ./...; \
	else echo "test-go: skipped, go is not installed"; fi

test-lab: setup ## the lab: types, style and tests
	cd lab && ../$(PYTHON) -m ruff check . && ../$(PYTHON) -m mypy && ../$(PYTHON) -m pytest

lint: setup ## formatting and lints of the Rust and Python code
	cargo fmt --all --check
	cargo clippy --locked -p mldsa-lanes -p mldsa-oracle --all-targets -- -D warnings
	cd lab && ../$(PYTHON) -m ruff format --check .

setup: ## the Python environment in .venv
	@sh scripts/setup_venv.sh

vectors: $(ACVP)

$(ACVP): lab/requirements.lock scripts/extract_acvp.py
	@sh scripts/setup_venv.sh
	$(PYTHON) scripts/extract_acvp.py

mutants: vectors ## one-token mutants of the library: every one must be caught
	$(PYTHON) scripts/mutants.py

clean: ## remove what the commands made, records in out/ excepted
	rm -rf target .venv
