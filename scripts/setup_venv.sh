#!/bin/sh
# Makes or refreshes .venv from lab/requirements.lock. Does nothing when it is up to date.
# Needs Python 3.11 or newer with the venv module; PYTHON names another interpreter.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
venv="$root/.venv"

suits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if suits "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "setup_venv: Python 3.11 or newer with the venv module is needed" \
       "(on Debian: apt-get install python3-venv); PYTHON=... names another interpreter" >&2
  exit 2
fi

# The stamp covers everything that decides what is installed, the checkout's own path included.
stamp=$("$python" - "$root" <<'PY'
import hashlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
digest = hashlib.sha256(f"{root} {sys.version}".encode())
for name in ("lab/requirements.lock", "lab/pyproject.toml", "studies/pyproject.toml"):
    digest.update((root / name).read_bytes())
print(digest.hexdigest())
PY
)
if [ -x "$venv/bin/mldsa-lab" ] && [ "$(cat "$venv/mldsa-lab.stamp" 2>/dev/null)" = "$stamp" ]; then
  exit 0
fi

echo "setting up .venv with $("$python" --version)"
rm -f "$venv/mldsa-lab.stamp"
# An environment of another Python is made anew; one of the same is brought up to date.
version='import sys; print(sys.version)'
if [ "$("$venv/bin/python" -c "$version" 2>/dev/null)" = "$("$python" -c "$version")" ]; then
  "$python" -m venv "$venv"
else
  "$python" -m venv --clear "$venv"
fi
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }
pip install --quiet --require-hashes --only-binary :all: -r "$root/lab/requirements.lock"
# setuptools comes from the lock, so no build isolation: nothing unpinned is fetched.
pip install --quiet --no-deps --no-build-isolation \
  --editable "$root/lab" --editable "$root/studies"
printf '%s\n' "$stamp" > "$venv/mldsa-lab.stamp"
