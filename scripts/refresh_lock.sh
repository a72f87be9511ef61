#!/bin/sh
# Rewrites uv.lock, and requirements.lock of the workers that have packages of PyPI: the newest versions allowed.
# With --keep, versions that are locked stay, and only what is new or gone changes.
set -eu
case "$*" in
  "") upgrade=--upgrade ;;
  --keep) upgrade= ;;
  *) echo "refresh_lock: the only argument is --keep" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
# The build backend tells the versions of the workspace's own packages.
sh scripts/setup.sh uv build
PATH="$PWD/.venv/bin:$PATH"
uv lock --default-index https://pypi.org/simple $upgrade
for worker in python node c/zig; do
  (cd "lab/workers/$worker" && uv pip compile --quiet $upgrade --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --custom-compile-command scripts/refresh_lock.sh requirements.in \
    --output-file requirements.lock)
done
