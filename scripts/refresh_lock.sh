#!/bin/sh
# Rewrites lab/requirements.lock from lab/pyproject.toml, and those of workers from their
# requirements.in: every platform, hashes, the newest versions allowed. With --keep, versions that
# are locked stay, and only what is new or gone changes.
set -eu
case "$*" in
  "") upgrade=--upgrade ;;
  --keep) upgrade= ;;
  *) echo "refresh_lock: the only argument is --keep" >&2; exit 2 ;;
esac
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/python" -m pip --disable-pip-version-check install --quiet uv
lock() {
  (cd "$root/$1" && shift && "$tools/bin/uv" pip compile --quiet $upgrade --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-emit-find-links \
    --custom-compile-command scripts/refresh_lock.sh "$@" --output-file requirements.lock)
}
lock lab --extra dev pyproject.toml
lock workers/python requirements.in
lock workers/node requirements.in
lock workers/c/zig requirements.in
