#!/bin/sh
# make builds PART="features targets msrv package": mldsa-lanes is built as its dependents may build it.
# Arguments: which of the four. rustup gives what is missing.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
say() { echo "check_builds: $*"; }
fail() { say "$*" >&2; exit 2; }
command -v rustup >/dev/null 2>&1 || fail "rustup is missing, which has the other targets and the oldest Rust"

# What a build without default features names to have something in it, separated by commas: nothing.
bare=ml-dsa-44,ml-dsa-65,ml-dsa-87
# Everything for ordinary use.
all=encryption,hardened,rayon,pem,prehash,serde,signature
# Features that belong together: each line is one build, and - is none at all.
feature_sets="
-
alloc
std
ml-dsa-44
ml-dsa-65,alloc
ml-dsa-44,ml-dsa-65,ml-dsa-87
ml-dsa-44,ml-dsa-65,ml-dsa-87,rayon
ml-dsa-44,signature
ml-dsa-44,hardened
ml-dsa-44,prehash
ml-dsa-65,pkcs8
ml-dsa-65,encryption
ml-dsa-87,serde
ml-dsa-44,alloc,signature,pkcs8
ml-dsa-44,ml-dsa-65,ml-dsa-87,pem,serde,signature
"
# Small CPUs, one without compare-and-swap among them, and 32 bits.
targets="thumbv7em-none-eabihf thumbv6m-none-eabi riscv64gc-unknown-none-elf wasm32-unknown-unknown i686-unknown-linux-gnu"
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml).0

target() {
  rustup target add "$@" >/dev/null 2>&1 || fail "rustup cannot get the target $*"
}
oldest_rust() {
  rustup run "$oldest" rustc --version >/dev/null 2>&1 \
    || rustup toolchain install "$oldest" --profile minimal >/dev/null 2>&1 \
    || fail "rustup cannot get Rust $oldest, the oldest that Cargo.toml promises"
}

# In all: warnings are errors, in the library's own code alone.
build() { RUSTFLAGS="-D warnings" cargo "$@" --locked --quiet --target-dir target/builds; }
lanes() { build "$@" -p mldsa-lanes; }
# The same source with its internals.
inside() { build "$@" -p mldsa-inside; }

features() {
  for set in $feature_sets; do
    lanes check --no-default-features --features "${set#-}"
  done
  for set in - ml-dsa-44 "$bare" "$bare,alloc"; do
    lanes check --no-default-features --features "${set#-}" --tests
  done
  lanes check --all-features --tests
  for set in ml-dsa-44,ml-dsa-87 "$bare"; do
    inside check --no-default-features --features "std,$set"
  done
  inside check --tests
  # Links in the documents must not need a feature.
  for set in "$bare" "$bare,$all"; do
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --no-deps -p mldsa-lanes --no-default-features \
      --features "$set" --target-dir target/builds
  done
  say "every set of features compiles, with tests and documents"
}

targets() {
  for triple in $targets; do
    target "$triple"
    for set in "$bare" "$bare,alloc" "$bare,encryption,hardened,pem,serde,signature"; do
      lanes check --no-default-features --features "$set" --target "$triple"
    done
  done
  say "compiles for $targets"
}

msrv() {
  oldest_rust
  RUSTUP_TOOLCHAIN=$oldest lanes check --features "$all"
  RUSTUP_TOOLCHAIN=$oldest lanes check --no-default-features --features "$bare"
  RUSTUP_TOOLCHAIN=$oldest lanes check -p mldsa-rustls
  say "compiles with Rust $oldest"
}

# What a dependent gets: the package, and a project outside this tree that has nothing but the line of
# the dependency, in the default profile and with the versions of Cargo.lock.
package() {
  oldest_rust
  target thumbv7em-none-eabihf
  cargo package --locked --quiet --no-verify --allow-dirty -p mldsa-lanes --target-dir target/builds
  archive=$(ls -t target/builds/package/mldsa-lanes-*.crate | head -1)
  outside=$(mktemp -d)
  trap 'rm -rf "$outside"' EXIT
  tar -xzf "$archive" -C "$outside"
  library=$(basename "$archive" .crate)
  for file in README.md LICENSE-APACHE LICENSE-MIT; do
    [ -s "$outside/$library/$file" ] || fail "the package has no $file"
  done
  export CARGO_TARGET_DIR="$root/target/dependent"
  # It compiles without the unit tests and internals, which are in another package.
  (cd "$outside/$library" && cargo check --quiet --tests --all-features)
  # The oldest versions that Cargo.toml allows. Stable Cargo takes -Z with this variable only.
  (cd "$outside/$library" && RUSTC_BOOTSTRAP=1 cargo update --quiet -Z direct-minimal-versions \
    && cargo check --quiet --features "$all")
  for project in program firmware; do
    mkdir -p "$outside/$project/src"
    cp Cargo.lock "$outside/$project/"
    printf '[package]\nname = "%s"\nedition = "2024"\n\n[dependencies]\n' "$project" >"$outside/$project/Cargo.toml"
  done
  echo "mldsa-lanes = { path = \"../$library\" }" >>"$outside/program/Cargo.toml"
  cat >"$outside/program/src/main.rs" <<'RUST'
use mldsa_lanes::mldsa65::SigningKey;

fn main() -> Result<(), mldsa_lanes::Error> {
    let key = SigningKey::from_seed(&[7; 32]);
    let signature = key.sign_deterministic(b"message")?;
    key.verifying_key().verify_signature(b"message", &signature)
}
RUST
  features=$(echo "$bare" | sed 's/[^,][^,]*/"&"/g')
  echo "mldsa-lanes = { path = \"../$library\", default-features = false, features = [$features] }" \
    >>"$outside/firmware/Cargo.toml"
  cat >"$outside/firmware/src/lib.rs" <<'RUST'
#![no_std]
use mldsa_lanes::{Error, mldsa44};

pub fn sign(seed: &[u8; 32], message: &[u8]) -> Result<mldsa44::Signature, Error> {
    mldsa44::SigningKey::from_seed(seed).sign_deterministic(message)
}
RUST
  (cd "$outside/program" && cargo run --quiet && cargo "+$oldest" build --quiet)
  (cd "$outside/firmware" && cargo build --quiet --target thumbv7em-none-eabihf)
  say "$library compiles with its tests and with its oldest dependencies, runs as a dependency, and builds with Rust $oldest and for thumbv7em"
}

[ $# -gt 0 ] || fail "which of features, targets, msrv and package?"
for part; do
  case $part in
    features | targets | msrv | package) $part ;;
    *) fail "$part is none of features, targets, msrv and package" ;;
  esac
done
