#!/bin/sh
# Counts the instructions of every signature of a selection: a simulator that takes its time.
#   measure.sh FOLDER    reads FOLDER/selection.rsp, writes FOLDER/measurements.csv
# Needs Valgrind (Debian: valgrind) and cargo.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
[ $# = 1 ] || { echo "usage: measure.sh FOLDER" >&2; exit 2; }
folder=$(CDPATH= cd -- "$1" && pwd)
command -v valgrind >/dev/null 2>&1 || {
  echo "measure.sh: valgrind is missing (Debian: apt-get install valgrind)" >&2; exit 2; }

target=${CARGO_TARGET_DIR:-$here/../../target/examples}
cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml" --target-dir "$target"

counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT
# Collection is on inside `measured` alone; each time it returns, a file with its count is written.
valgrind --tool=callgrind --callgrind-out-file="$counts/count" --collect-atstart=no \
  --toggle-collect='slow_target::measured' --dump-after='slow_target::measured' \
  "$target/release/slow-target" "$folder/selection.rsp" \
  >"$counts/ids" 2>"$counts/log" || { tail -n 5 "$counts/log" >&2; exit 1; }

number=0
echo "id,cost,unit" >"$counts/measurements.csv"
while read -r id; do
  number=$((number + 1))
  cost=$(sed -n 's/^totals: \([0-9]*\).*/\1/p' "$counts/count.$number")
  echo "$id,$cost,instructions" >>"$counts/measurements.csv"
done <"$counts/ids"
mv "$counts/measurements.csv" "$folder/measurements.csv"
echo "$number signatures counted: $folder/measurements.csv"
