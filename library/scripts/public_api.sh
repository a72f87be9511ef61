#!/bin/sh
# make public-api: the public interface of mldsa-lanes is that of library/crates/mldsa-lanes/public-api.txt.
# Arguments: a nightly toolchain, whose rustdoc writes JSON; --write rewrites the file.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "public_api: $*" >&2; exit 2; }
toolchain=$1
version=0.52.0
listing=crates/mldsa-lanes/public-api.txt
tools=$PWD/target/tools
PATH=$tools/bin:$PATH
[ "$(cargo public-api --version 2>/dev/null)" = "cargo-public-api $version" ] \
  || CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --version "$version" --root "$tools" cargo-public-api \
  || fail "cargo cannot install cargo-public-api $version"
rustup run "$toolchain" rustc --version >/dev/null 2>&1 \
  || rustup toolchain install "$toolchain" --profile minimal >/dev/null 2>&1 \
  || fail "rustup cannot get $toolchain; MIRI=nightly takes another that is here"
now=target/public-api.txt
# Without blanket, automatic and derived implementations.
CARGO_TARGET_DIR=target/public-api cargo "+$toolchain" public-api -sss -p mldsa-lanes \
  --features encryption,hardened,pem,prehash,rayon,serde,signature >"$now"
if [ "${2-}" = --write ]; then
  cp "$now" "$listing"
elif ! diff -u "$listing" "$now"; then
  echo "public_api: the interface is not that of $listing; if that is meant: make public-api ARGS=--write" >&2
  exit 1
fi
echo "public-api: $(wc -l <"$listing") items as listed"
