#!/bin/sh
# make fuzz SECONDS=... [TARGETS="..."]: the targets of library/verify/mldsa-fuzz under libFuzzer, with the coverage
# of the library's code as guide and AddressSanitizer, so many seconds each; then the lab's readers.
# New inputs are kept in target/fuzz/corpus, findings in out/fuzz. It needs the nightly compiler
# NIGHTLY and a C++ compiler.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?"usage: fuzz.sh SECONDS NIGHTLY [TARGET...]"} nightly=${2:?"no nightly is named"}
shift 2
case $seconds in '' | *[!0-9]*) echo "fuzz: SECONDS=$seconds is not a number" >&2; exit 2 ;; esac
targets=${*:-$(ls verify/mldsa-fuzz/corpus)}
for target in $targets; do
  [ -d "verify/mldsa-fuzz/corpus/$target" ] || { echo "fuzz: no target is called $target" >&2; exit 2; }
done
rustup run "$nightly" cargo --version >/dev/null 2>&1 || rustup toolchain install "$nightly" --profile minimal \
  || { echo "fuzz: rustup cannot get $nightly; NIGHTLY=nightly takes another that is here" >&2; exit 2; }
work=$(mkdir -p "${CARGO_TARGET_DIR:-target}/fuzz" && cd "${CARGO_TARGET_DIR:-target}/fuzz" && pwd)
host=$(rustc "+$nightly" -vV | sed -n 's/host: //p')
# As cargo-fuzz builds.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="-Zsanitizer=address $coverage -Ccodegen-units=1 --cfg fuzzing" CARGO_TARGET_DIR=$work \
  cargo "+$nightly" build --locked --release --manifest-path verify/libfuzzer/Cargo.toml --target "$host"
mkdir -p out/fuzz
failed=
for target in $targets; do
  mkdir -p "$work/corpus/$target"
  # The first folder gets what is new.
  "$work/$host/release/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 \
    -artifact_prefix="out/fuzz/$target-" -print_final_stats=1 \
    "$work/corpus/$target" "verify/mldsa-fuzz/corpus/$target" >"$work/$target.log" 2>&1 \
    || { failed="$failed $target"; tail -n 40 "$work/$target.log"; }
  echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log") inputs," \
    "coverage $(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$work/$target.log" | tail -1)"
done
[ -z "$failed" ] || { echo "fuzz: found by$failed; the inputs are in out/fuzz" >&2; exit 1; }
