# The commands of the repository, which holds three projects: library, lab and rtl, each with a Makefile and
# `make -C PROJECT help`. Any other target goes to every project that has it: `make golden` is `make -C lab golden`.
# Each command does its own set-up: it needs git, make, a C compiler, rustup's Rust, Python 3.11 or newer and the package
# registries; Go where the Go worker is wanted.

SHELL := /bin/sh
PY := .venv/bin/python
PROJECTS := $(wildcard library lab rtl)
# Projects whose Makefile has this target.
with = $(strip $(foreach project,$(PROJECTS),$(if $(shell grep -E '^$(1):' $(project)/Makefile),$(project))))
# In each of these projects.
each = $(foreach project,$(1),$(MAKE) -C $(project) $(2) &&) true

.PHONY: help setup bench test test-all check trust docs dist test-dist clean

help: ## list the commands
	@sed -n 's/^\([a-z%-]*\):.*## /  make \1#/p' Makefile | column -t -s '#'
	@for project in $(PROJECTS); do echo "  make -C $$project help"; done

setup: setup-bench ## the Python environment in .venv, as bench needs it
	@echo "setup: .venv is ready for .venv/bin/mldsa-lab; the workers are built when they are first measured"
	@echo "next: make bench, or .venv/bin/mldsa-lab workers doctor, which says which workers can run here"

bench: ## measure every implementation: the quick profile, or ARGS="..."
	@$(MAKE) --no-print-directory -C lab bench

# Two tiers (CONTRIBUTING.md): `make test` while working, `make test-all` is what CI runs.
test: ## shows that the project is right on this machine
	@$(call each,$(PROJECTS),test)

test-all: ## every test there is
	@$(call each,$(PROJECTS),test-all)

check: ## what is judged without running tests
	@$(call each,$(call with,check),check)

trust: ## a bounded version of all evidence for the library, in one table (docs/trust.md)
	@$(MAKE) --no-print-directory -C library trust

docs: setup-docs ## the documentation as a site in out/site, with search, without a network
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build

dist: PART =
dist: setup-dist ## crates, wheels, source distributions, the C library and checksums in dist/: PART="python"
	@$(PY) scripts/dist.py $(PART)

test-dist: setup-test dist ## install each wheel of dist/ in an empty environment and use it
	$(PY) -m pytest -q scripts/tests

clean: ## remove what the commands made, records in out/ excepted
	rm -rf .venv library/target lab/target rtl/target

# The groups of pyproject.toml: make setup-impact, setup-pools, setup-rtl, setup-test …
setup-%:
	@sh scripts/setup.sh $*

# Make would remake its own file by the rule below.
Makefile: ;

%:
	@projects="$(call with,$@)"; [ -n "$$projects" ] || { echo "make: no project has a target $@: make help" >&2; exit 2; }
	@$(call each,$(call with,$@),$@)
