#!/bin/sh
# The C library without cargo-c, on ELF platforms: the files that `cargo cinstall` installs.
#   c_library.sh build    compile it (`make c`)
#   c_library.sh install  install it (`make install-c`); needs no Rust
#     PREFIX   default /usr/local
#     LIBDIR   below PREFIX, default lib
#     DESTDIR  written before PREFIX, for packages
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}/capi
built=$target/capi
source=bindings/c
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-lib}

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml")
description=$(sed -n '/pkg_config\]/,$s/^description = "\(.*\)"$/\1/p' "$source/Cargo.toml")
# The part of the version that an incompatible interface changes.
case $version in
  0.0.*) interface=$version ;;
  0.*) interface=${version%.*} ;;
  *) interface=${version%%.*} ;;
esac

build() {
  cargo rustc --locked -p mldsa-capi --lib --profile capi --features capi --target-dir "$target" \
    --crate-type cdylib,staticlib -- \
    -C "link-arg=-Wl,-soname,libmldsa.so.$interface" --print "native-static-libs=$target/libs"
  # Half of the archive describes the standard library to debuggers.
  "${STRIP:-strip}" --strip-debug "$built/libmldsa.a"
}

install_files() {
  for file in "$built/libmldsa.a" "$built/libmldsa.so" "$target/libs"; do
    [ -f "$file" ] || { echo "install-c: $file is missing: run \`make c\` first" >&2; exit 2; }
  done
  lib=${DESTDIR:-}$prefix/$libdir
  mkdir -p "$lib/pkgconfig" "${DESTDIR:-}$prefix/include"
  cp "$source"/include/*.h "${DESTDIR:-}$prefix/include"
  cp "$built/libmldsa.a" "$lib"
  # Not written over: programs may run that have it.
  rm -f "$lib/libmldsa.so.$version"
  cp "$built/libmldsa.so" "$lib/libmldsa.so.$version"
  ln -sf "libmldsa.so.$version" "$lib/libmldsa.so.$interface"
  ln -sf "libmldsa.so.$version" "$lib/libmldsa.so"
  # Without -lgcc_s, which the compiler adds itself, and which a static program has as an archive.
  private=$(sed 's/-lgcc_s *//' "$target/libs")
  cat >"$lib/pkgconfig/mldsa_lanes.pc" <<EOF
prefix=$prefix
exec_prefix=\${prefix}
libdir=\${prefix}/$libdir
includedir=\${prefix}/include

Name: mldsa_lanes
Description: $description
Version: $version
Libs: -L\${libdir} -lmldsa
Cflags: -I\${includedir}
Libs.private: $private
EOF
}

case ${1:-} in
  build) build ;;
  install) install_files ;;
  *) echo "usage: c_library.sh build|install" >&2; exit 2 ;;
esac
