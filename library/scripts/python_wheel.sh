#!/bin/sh
# python_wheel.sh VENV [OPTION...]: builds the wheel of library/bindings/python into VENV/wheels and installs it in VENV,
# which has the group `wheel` of pyproject.toml (scripts/setup.sh). The options are those of `maturin build`.
# One wheel serves CPython 3.10 and newer.
set -eu
[ $# -ge 1 ] || { echo "python_wheel: usage: sh scripts/python_wheel.sh VENV [OPTION...]" >&2; exit 2; }
case $1 in /*) venv=$1 ;; *) venv=$PWD/$1 ;; esac
shift
cd "$(dirname "$0")/.."
command -v cargo >/dev/null || { echo "python_wheel: cargo is missing: install Rust with rustup" >&2; exit 2; }
rm -rf "$venv/wheels"
"$venv/bin/maturin" build --quiet --release --locked --manifest-path bindings/python/Cargo.toml \
  --interpreter "$venv/bin/python" --out "$venv/wheels" "$@"
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-index --no-deps --force-reinstall \
  "$venv"/wheels/mldsa_lanes-*.whl
