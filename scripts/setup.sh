#!/bin/sh
# setup.sh GROUP...: installs dependency groups of pyproject.toml in .venv, as uv.lock pins them. Other groups that
# are there stay. It takes uv from the path, or installs it; where uv does not work, or with MLDSA_NO_UV=1, pip.
# Needs Python 3.11 or newer with the venv module; PYTHON names another interpreter.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
venv="${MLDSA_VENV:-$root/.venv}"
python="$venv/bin/python"
version='import sys, venv, ensurepip; print(sys.version) if sys.version_info >= (3, 11) else sys.exit(1)'

# An environment of another folder or another Python is made anew.
here=$(grep -qsF " $venv" "$venv/pyvenv.cfg" && "$python" -c "$version" 2>/dev/null || true)
if [ -z "$here" ] || [ -n "${PYTHON:-}" ]; then
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] && wanted=$("$candidate" -c "$version" 2>/dev/null) && break
  done
  if [ -z "${wanted:-}" ]; then
    echo "setup: Python 3.11 or newer with the venv module is needed" \
         "(on Debian: apt-get install python3-venv); PYTHON=... names another interpreter" >&2
    exit 2
  fi
  if [ "$here" != "$wanted" ]; then
    echo "setup: making .venv with Python ${wanted%% *}, then installing the packages of uv.lock; about a minute"
    "$candidate" -m venv --clear "$venv"
  fi
fi

pip() { "$python" -m pip --disable-pip-version-check --no-input install --quiet "$@"; }
locked() { "$python" scripts/requirements.py "$@"; }
pip_locked() {
  locked "$@" >"$venv/requirements.txt" \
    && pip --require-hashes --only-binary :all: --requirement "$venv/requirements.txt"
}

with_uv() {
  [ -z "${MLDSA_NO_UV:-}" ] || return 1
  uv="$venv/bin/uv"
  if [ ! -x "$uv" ]; then
    # The system's, where it is new enough for pyproject.toml.
    uv=$(command -v uv || true)
    if [ -z "$uv" ] || ! "$uv" export --frozen --only-group uv >/dev/null 2>&1; then
      pip_locked uv 2>/dev/null || return 1
      uv="$venv/bin/uv"
    fi
  fi
  groups=
  for group in "$@"; do groups="$groups --only-group $group"; done
  # shellcheck disable=SC2086 # one word for each part
  UV_PROJECT_ENVIRONMENT="$venv" "$uv" sync --quiet --frozen --inexact --no-python-downloads --no-build $groups
}

with_pip() {
  pip_locked "$@"
  # The build backend is locked too: without isolation nothing else is fetched.
  for folder in $(locked --local "$@"); do pip --no-deps --no-build-isolation --editable "$folder"; done
}

with_uv "$@" || with_pip "$@"
