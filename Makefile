# The commands of the project. Each does its own set-up: it needs git, make, a C compiler, rustup's
# Rust, Python 3.11 or newer and the package registries; Go where the Go worker is wanted.

SHELL := /bin/sh
PY := .venv/bin/python
LAB := .venv/bin/mldsa-lab
ARGS ?= --quick

# Python compiles a module once, whatever the shell says: without it every command takes seconds longer.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help bench tables answers bench-kernels count-arm model-arm check-dependent compare-dependent test test-all test-rust test-rust-all test-rustls c install-c test-c test-cli test-emulated test-backends test-arm test-x86 test-big-endian \
  test-workers test-workers-all test-go test-python overhead-python test-lab test-lab-all golden test-rtl rtl-others fuzz fuzz-faults faults fault-sweep soak bounds trust supply check lint lint-peers layers features targets msrv package public-api deny miri test-firmware setup dist test-dist mutants ct ct-code dudect stack shares container clean

help: ## list the commands
	@sed -n 's/^\([a-z%-]*\):.*## /  make \1#/p' Makefile | column -t -s '#'

bench: setup-bench ## measure every implementation: the quick profile, or ARGS="..."
	@$(LAB) bench $(ARGS)

tables: setup-impact setup-rtl setup-study ## rewrite the measured tables of the documents from their records
	@$(PY) scripts/documents.py

answers: setup-impact setup-rtl setup-study ## rewrite the answers to published pages (docs/answers) from their records
	@$(PY) scripts/documents.py docs/answers/*.md

bench-kernels: ARGS =
bench-kernels: setup-bench ## time the kernels of each backend beside the peers' own: ARGS="--help"
	@sh scripts/bench_kernels.sh $(ARGS)

# The library with its internals, for unit tests and the suite; as it is published, with every feature; and the oracle.
LIBRARY := -p mldsa-inside -p mldsa-lanes -p mldsa-oracle --all-features

# Two tiers (CONTRIBUTING.md): `make test` while working, `make test-all` is what CI runs.
test: test-rust test-workers test-lab ## shows that the project is right on this machine

test-all: test-rust-all test-rustls test-cli test-c test-workers-all test-go test-python test-lab-all lint-peers test-rtl test-emulated ## every test there is

# Skipped here and run by `make test-all`: trace statistics, rounding over all of Z_q.
test-rust: ## the library and the oracle on every backend of this CPU
	MLDSA_ACCUMULATED=$${MLDSA_ACCUMULATED-100} cargo test --locked $(LIBRARY) \
	  --lib --test suite --test once --test selection -- --skip trace_statistics --skip rounding_of_all_of_z_q
	cargo test --locked $(LIBRARY) --doc

# What takes long: digests over 10,000 signatures, memory and stack in every kind of build, fuzzing sessions, faults.
test-rust-all: ## test-rust at full size, with memory, fuzzing sessions and injected faults
	cargo test --locked $(LIBRARY) -p mldsa-trace -p mldsa-fuzz -p mldsa-fault
	cargo test --locked --release -p mldsa-lanes --all-features --test memory
	$(STACK) $(UNOPTIMISED)

# OPENSSL names one with ML-DSA (3.5 or newer) where that of the path is older.
test-cli: setup-test ## the command line mldsa: every command, pipes, OpenSSL and cryptography both ways
	cargo test --locked -p mldsa-cli

test-rustls: setup-tls ## ML-DSA in TLS 1.3: rustls with itself, with aws-lc and with OpenSSL
	MLDSA_EXPECT_OPENSSL=1 cargo test --locked -p mldsa-rustls

test-emulated: miri test-arm test-big-endian test-firmware test-x86 ct ct-code ## other CPUs, undefined behaviour, constant time

test-backends: test-arm test-x86 ## the backends that this CPU lacks, emulated

# The NEON backends under user-mode emulation: once with the SHA3 extension, once on a CPU without, where the portable
# backend has its known answers too.
ARM := aarch64-unknown-linux-gnu
comma := ,
ARM_TESTS := acvp:: wycheproof:: rejection_paths:: past_bugs_
QEMU := qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu
# What a backend does not change runs natively: the portable kernels, and texts over all residues.
NATIVE := --skip portable_kernels --skip kernels::
# arm CPU BACKENDS ONLY UNIT-TESTS TESTS: these unit tests, and tests of the suite on the backends ONLY, on a CPU with
# just these backends.
arm = export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$(QEMU) $(1)" MLDSA_EXPECT_BACKENDS=$(2) && \
	cargo test --locked --target $(ARM) -p mldsa-inside --lib -- $(4) && \
	MLDSA_ONLY_BACKENDS=$(3) cargo test --locked --target $(ARM) -p mldsa-inside --test suite -- $(5)

test-arm:
	@for tool in aarch64-linux-gnu-gcc qemu-aarch64; do command -v $$tool >/dev/null || { \
	  echo "test-arm: $$tool is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" >&2; exit 2; }; done
	rustup target add $(ARM)
	$(call arm,max,portable$(comma)neon$(comma)neon-sha3,neon$(comma)neon-sha3,$(NATIVE),$(ARM_TESTS))
	$(call arm,cortex-a57,portable$(comma)neon,,neon_kernels,acvp::)

# The AVX-512 backends in an emulated machine, unless this CPU has them: then `make test` ran them.
test-x86:
	@if grep -qw avx512bw /proc/cpuinfo; then echo "test-x86: nothing to emulate, this CPU has AVX-512"; \
	else sh scripts/test_avx512.sh; fi

# Known answers where the first byte of a word is its highest.
BIG_ENDIAN := s390x-unknown-linux-gnu

test-big-endian: ## NIST's and Wycheproof's answers on a big-endian CPU, emulated
	@for tool in s390x-linux-gnu-gcc qemu-s390x; do command -v $$tool >/dev/null || { \
	  echo "test-big-endian: $$tool is missing: apt-get install gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user" >&2; exit 2; }; done
	rustup target add $(BIG_ENDIAN)
	CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc \
	CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x -L /usr/s390x-linux-gnu" \
	MLDSA_EXPECT_BACKENDS=portable \
	cargo test --locked --target $(BIG_ENDIAN) -p mldsa-inside --test suite -- acvp:: wycheproof::

# In the environment and folder of the lab's own builds, so that the peers are compiled once.
test-workers: setup-bench ## the Rust worker's own tests
	@$(PY) -m mldsa_lab.worker.build --test rust

test-workers-all: setup-bench ## those of all Rust workers, the broken workers and the kernel benchmarks
	@$(PY) -m mldsa_lab.worker.build --test rust rust-families
	@sh scripts/bench_kernels.sh test

c: ## compile the C library; `make install-c` installs it (PREFIX, LIBDIR, DESTDIR)
	@sh scripts/c_library.sh build

install-c: export PREFIX := $(PREFIX)
install-c: export LIBDIR := $(LIBDIR)
install-c: export DESTDIR := $(DESTDIR)
install-c:
	@sh scripts/c_library.sh install

test-c: export CARGO_C := $(CARGO_C)
test-c: ## the C library as `make install-c` installs it: headers, examples, interface, random calls, Valgrind, AddressSanitizer
	@sh scripts/test_c.sh

test-go: ## the Go worker, where Go is installed
	@if command -v go >/dev/null 2>&1; then \
	  cd workers/go && GOTOOLCHAIN=local go vet ./... && GOTOOLCHAIN=local go test ./...; \
	else echo "test-go: skipped, go is not installed"; fi

PYTHON_VENV := $(CURDIR)/target/python

# In an environment of its own, that of the group `binding`, where nothing but the wheel has the module.
test-python: ## the Python package mldsa-lanes: build its wheel, install it, test it
	@MLDSA_VENV=$(PYTHON_VENV) sh scripts/setup.sh binding
	@sh scripts/python_wheel.sh $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pytest bindings/python/tests

overhead-python: ## time that a call from Python adds to the Rust call, ML-DSA-65, paired in one process
	@MLDSA_VENV=$(PYTHON_VENV)-timing sh scripts/setup.sh wheel
	@sh scripts/python_wheel.sh $(PYTHON_VENV)-timing --features timing
	$(PYTHON_VENV)-timing/bin/python bindings/python/overhead.py

PYTEST = cd lab && MLDSA_LAB_PREBUILT=1 ../$(PY) -m pytest -n logical --dist worksteal

# The tests build nothing by themselves: prebuild.py makes the workers that their tier needs.
test-lab: setup-test ## the lab's fast tests
	@$(PY) lab/tests/prebuild.py
	$(PYTEST) -m "not (e2e or simulation or toolchain or browser)"

test-lab-all: setup-test ## all tests of the lab
	@$(LAB) workers setup java-25
	@$(PY) lab/tests/prebuild.py --all
	$(PYTEST)

golden: ARGS =
golden: setup-test ## compare every figure of the lab with tests/golden: ARGS="--write" rewrites the files
	@$(PY) scripts/golden.py $(ARGS)

test-rtl: setup-test ## the hardware core and the bench for cores: lint, units, both configurations (Verilator)
	@sh scripts/test_rtl.sh

# ML-DSA-65 on a Cortex-M4 with 40 KiB of stack; an operation that needs more faults.
test-firmware: ## generate, import, sign and verify without a heap, on an emulated microcontroller
	@command -v qemu-system-arm >/dev/null || { \
	  echo "test-firmware: qemu-system-arm is missing: apt-get install qemu-system-arm" >&2; exit 2; }
	rustup target add thumbv7em-none-eabihf
	cd examples/firmware && CARGO_TARGET_DIR=$(CURDIR)/target/firmware cargo run --locked --release

# Counts are exact, so one round says all.
count-arm: ARGS =
count-arm: setup-bench ## instructions of ML-DSA on AArch64 by class, emulated, with the SHA3 extension and without (docs/arm.md): ARGS="--batch 16"
	@$(LAB) workers setup arm
	@for worker in arm-sha3 arm; do \
	  $(LAB) bench --workers $$worker --sets 44,65,87 --rounds 10 --seed arm --timeout 600 $(ARGS) || exit 1; done

model-arm: setup-bench ## cycles that LLVM's models predict for AArch64 kernels and operations: rewrites docs/arm.md (Debian: llvm-19 and count-arm's needs)
	@$(LAB) workers setup arm && $(PY) -m mldsa_lab.worker.build arm
	@$(PY) scripts/model_arm.py

check-dependent: ## a dependent's object code, in Cargo's own profile: no kernel's code outside its entry point
	python3 scripts/dependent.py check

compare-dependent: ## a dependent's times in Cargo's own profile beside the workspace's
	python3 scripts/dependent.py compare 40

check: lint layers features targets msrv package public-api check-dependent deny supply ## what is judged without running tests

lint: setup-test ## formatting, lints and types of the Rust and Python code
	cargo fmt --all --check
	rustfmt --edition 2024 --check $$(find crates/mldsa-inside/unit -name '*.rs')
	cargo fmt --all --check --manifest-path workers/c/Cargo.toml
	cargo clippy --locked $(LIBRARY) -p mldsa-acvp -p mldsa-cli -p mldsa-trace -p mldsa-fuzz -p mldsa-rustls -p mldsa-capi -p mldsa-worker-lanes-c -p mldsa-fault --all-targets -- -D warnings
	cargo clippy --locked -p mldsa-lanes-python -- -D warnings
	RUSTFLAGS="--cfg mldsa_ct" cargo clippy --locked -p mldsa-ct --target-dir target/ct -- -D warnings
	cd lab && ../$(PY) -m ruff format --check . ../studies ../impact ../examples ../rtl ../bindings/python ../crates/mldsa-rustls ../crates/mldsa-cli && \
	  ../$(PY) -m ruff check . ../studies ../impact ../examples ../workers ../rtl ../bindings/python ../crates/mldsa-rustls ../crates/mldsa-cli && ../$(PY) -m mypy && \
	  ../$(PY) -m ruff format --config pyproject.toml --check ../scripts/golden.py ../scripts/count_code.py ../scripts/dist.py ../scripts/keccak_arm.py ../scripts/schemas.py ../tests/dist && \
	  ../$(PY) -m ruff check --config pyproject.toml ../scripts/golden.py ../scripts/count_code.py ../scripts/dist.py ../scripts/keccak_arm.py ../scripts/schemas.py ../tests/dist && ../$(PY) -m mypy ../scripts/golden.py ../scripts/count_code.py ../scripts/dist.py ../scripts/keccak_arm.py ../scripts/schemas.py && \
	  ../$(PY) ../scripts/keccak_arm.py --check

lint-peers: setup-bench ## lints of the crates that need the peers' builds; of workers/c those that are set up
	@sh scripts/bench_kernels.sh clippy

layers: ## modules of mldsa-lanes use only those below them
	@python3 scripts/check_layers.py

features: ## mldsa-lanes with every set of features, its tests and documents
	@sh scripts/check_builds.sh features

targets: ## mldsa-lanes for CPUs without a backend of their own
	@sh scripts/check_builds.sh targets

msrv: ## mldsa-lanes and mldsa-rustls with the oldest Rust that Cargo.toml promises
	@sh scripts/check_builds.sh msrv

package: ## the package, and projects that depend on it
	@sh scripts/check_builds.sh package

public-api: ARGS =
public-api: ## the public interface of mldsa-lanes against its listing: ARGS=--write rewrites it
	@sh scripts/public_api.sh $(MIRI) $(ARGS)

deny: setup-bench ## licences, sources, duplicates and advisories of the crates (cargo-deny)
	@sh scripts/deny.sh

supply: setup-bench ## dependencies as docs/supply.md says, SBOMs, and a package that can be made again
	@$(PY) scripts/supply.py

# The nightly that has been used; MIRI=nightly takes another.
MIRI := nightly-2026-05-20

miri: ## every operation once in Miri, which finds undefined behaviour
	@rustup run $(MIRI) cargo miri --version >/dev/null 2>&1 \
	  || rustup toolchain install $(MIRI) --profile minimal --component miri --component rust-src \
	  || { echo "miri: rustup cannot get $(MIRI); MIRI=nightly takes another that is here" >&2; exit 2; }
	cargo +$(MIRI) miri test --locked -p mldsa-lanes --no-default-features --features alloc,ml-dsa-44 --test once

# Seconds for each target; FUZZ names some of them.
SECONDS := 60
FUZZ :=

fuzz: setup-test ## the library under libFuzzer, then the lab's readers: SECONDS=60 for each target
	@sh scripts/fuzz.sh $(SECONDS) $(MIRI) $(FUZZ)
	cd lab && MLDSA_FUZZ_SECONDS=$(SECONDS) ../$(PY) -m pytest -c pyproject.toml -k bent tests/test_fuzz_readers.py \
	  ../impact/tests/test_impact_errors.py ../rtl/bench/tests/test_core_manifest.py

fuzz-faults: setup-bench ## faults that are planted: the bounded session of a target finds each
	$(PY) scripts/mutants.py --fuzz

bounds: ## kernels for all inputs: whole domains on this CPU's backends, intervals on every backend's arithmetic
	MLDSA_BOUNDS=all cargo test --locked --release -p mldsa-inside --lib -- --show-output _kernels bounds_tests

# Faults for each parameter set and mode; 100000 take about a quarter of an hour on two cores. A run goes on
# where an earlier one stopped.
FAULTS := 2000

faults: ## disturb the library as it runs, FAULTS=2000 times a set and mode (docs/faults.md)
	cargo run --locked --profile fault -p mldsa-fault -- $(FAULTS) --out out/faults.jsonl

# Cases of each operation, set and mode.
CASES := 1

# The caller's frame comes twice: with link-time optimisation the compiler inlines more of the library into it.
fault-sweep: ## skip every instruction that an operation reaches, turn every conditional jump: CASES=1
	cargo run --locked --profile fault -p mldsa-fault -- $(CASES) --sweep --out out/fault-sweep.jsonl
	cargo run --locked --profile fault-lto -p mldsa-fault -- $(CASES) --sweep --places inlined,caller --modes hardened \
	  --out out/fault-sweep-lto.jsonl

trust: setup-test ## a bounded version of all evidence, in one table (docs/trust.md)
	@$(PY) scripts/trust.py

HOURS := 1

soak: ## every fuzzing target at random for HOURS=1, then digests over 1,000,000 signatures a set
	@mkdir -p out
	cargo run --locked --release -p mldsa-fuzz -- soak $(HOURS) out/soak.txt
	MLDSA_ACCUMULATED=1000000 cargo test --locked --release -p mldsa-inside --test suite accumulated::

dist: PART =
dist: setup-dist ## crates, wheels, source distributions, the C library and checksums in dist/: PART="python"
	@$(PY) scripts/dist.py $(PART)

test-dist: setup-test dist ## install each wheel of dist/ in an empty environment and use it
	$(PY) -m pytest -q tests/dist

setup: setup-bench ## the Python environment in .venv, as bench needs it
	@echo "setup: .venv is ready for $(LAB); the workers are built when they are first measured"
	@echo "next: make bench, or $(LAB) workers doctor, which says which workers can run here"

# ARGS: options of `mldsa-lab study jvm`. CONTAINER may be podman.
container: CONTAINER = docker
container: ARGS = --profile default
container: ## the JVM study in a container of 2 CPUs and 2 GB, its results in out/container: ARGS="--profile allocation"
	$(CONTAINER) build --tag mldsa-lab-jvm --file studies/Containerfile $(BUILD) .
	mkdir -p out/container
	chmod 777 out/container
	$(CONTAINER) run --rm --cpus 2 --memory 2g --volume $(CURDIR)/out/container:/results $(RUN) mldsa-lab-jvm $(ARGS)

rtl-others: setup-rtl ## public designs in the harness: fetch them, make Verilog, measure them (git, Debian: ghdl)
	$(PY) rtl/others/prepare.py
	$(LAB) rtl study $(foreach core,highperf/core lowres/ii lowres/iii lowres/v,rtl/others/$(core).toml)

# The groups of pyproject.toml: bench, pools, study, impact, dask, rtl, lint, ct, dist, tls, test.
setup-%: ## more of it: make setup-impact, setup-pools, setup-rtl, setup-test …
	@sh scripts/setup.sh $*

mutants: setup-bench ## one-token mutants of the library: every one must be caught
	$(PY) scripts/mutants.py

ct: ## branches, indices and divisions on secrets, looked for with Valgrind (Debian: valgrind libc6-dbg)
	@sh scripts/ct.sh

ct-code: ARGS =
ct-code: setup-ct ## the compiled kernels read for the same, AVX-512 and NEON too: ARGS="--build tuned"
	@$(PY) scripts/ct_code $(ARGS)

# Samples for each row; SETS names some of the parameter sets.
SAMPLES := 20000
SETS :=

dudect: ## time of fixed against random secrets, Welch's t (dudect): SAMPLES=20000 SETS="ML-DSA-44"; figures, no verdict
	@mkdir -p out
	cargo run --locked --release -q -p mldsa-ct --bin mldsa-dudect $(SAMPLES) $(SETS) | tee out/dudect.txt

STACK := cargo test --locked -p mldsa-lanes --all-features --test memory stack_is_as_stated
# The library as Cargo's dev profile compiles it: debug information takes stack too.
UNOPTIMISED := --config profile.test.opt-level=0 --config profile.test.package.mldsa-lanes.debug=2

shares: ## measure where the time of each operation goes (x86-64): rewrites docs/performance.md
	python3 scripts/shares.py

stack: ## measure the stack of every operation: rewrites docs/stack.md
	MLDSA_WRITE_STACK=1 $(STACK) --release
	MLDSA_WRITE_STACK=1 $(STACK) $(UNOPTIMISED)

clean: ## remove what the commands made, records in out/ excepted
	rm -rf target .venv
