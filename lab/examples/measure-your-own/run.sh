#!/bin/sh
# The steps of docs/measure-your-own.md, from nothing to an estimate.
#   run.sh [FOLDER]    results go there, out/mine of the checkout by default
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
folder=${1:-$root/out/mine}
lab="$root/.venv/bin/mldsa-lab"
[ -x "$lab" ] || { echo "run.sh: run 'make setup' first" >&2; exit 2; }
set -x
"$lab" select 65 --goal regression -n 10 --out "$folder"
sh "$here/measure.sh" "$folder"
"$lab" estimate "$folder/selection.json" "$folder/measurements.csv" \
  --to "$folder/plot.png" --cost-model "$folder/cost.json"
