#!/bin/sh
# make bench-kernels: builds lab/bench/kernels as the lab builds its Rust worker by default
# (lab/workers/registry.toml) and in the same folder, so that the peers are compiled once, and runs it with
# the arguments given.
# "test" as the only argument runs its tests instead, "clippy" the lints of the crates with peers.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root/lab"
for tool in cargo cc; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "bench-kernels: $tool is missing: install Rust with rustup, and a C compiler" >&2
    exit 2
  }
done
ask() { "$root/.venv/bin/python" -c "from mldsa_lab.worker.registry import $1; print($1())"; }
LIBCLANG_PATH=$(ask libclang_folder)
BINDGEN_EXTRA_CLANG_ARGS="-isystem $(ask compiler_include)"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/lab/target/workers}
RUSTFLAGS=
CFLAGS=
export LIBCLANG_PATH BINDGEN_EXTRA_CLANG_ARGS CARGO_TARGET_DIR RUSTFLAGS CFLAGS

# With the Rust worker, whose features the crates then have: another set would compile the peers again.
programs="--release --locked --bins -p mldsa-bench-kernels -p mldsa-worker-rust -p mldsa-trace"
case "$*" in
  # shellcheck disable=SC2086 # one word for each option
  test) exec cargo test $programs ;;
  clippy)
    lint() { cargo clippy --release --locked "$@" --all-targets -- -D warnings; }
    lint -p mldsa-bench-kernels -p mldsa-worker-loop -p mldsa-worker-rust -p mldsa-worker-rust-families -p mldsa-worker-broken
    # Of the workers whose libraries are built apart, those that are set up here, as that built them.
    workers=$CARGO_TARGET_DIR
    export CARGO_TARGET_DIR="$workers/c" CXXFLAGS= ZIG="$workers/zig/compiler/ziglang/zig"
    for worker in boringssl botan liboqs openssl wolfssl zig; do
      if [ -f "$workers/$worker/setup.json" ]; then
        lint --manifest-path workers/c/Cargo.toml -p "mldsa-worker-$worker"
      else
        echo "lint-peers: lab/workers/c/$worker is left out: not set up (mldsa-lab workers setup $worker)"
      fi
    done
    exit
    ;;
esac
# shellcheck disable=SC2086
cargo build $programs
exec "$CARGO_TARGET_DIR/release/mldsa-bench-kernels" "$@"
