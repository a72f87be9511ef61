#!/bin/sh
# Rewrites lab/requirements.lock from lab/pyproject.toml: newest versions allowed, every platform, hashes.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/python" -m pip --disable-pip-version-check install --quiet uv
cd "$root/lab"
"$tools/bin/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --extra dev --no-emit-index-url --no-emit-find-links \
  --custom-compile-command scripts/refresh_lock.sh pyproject.toml --output-file requirements.lock
