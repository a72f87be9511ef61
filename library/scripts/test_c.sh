#!/bin/sh
# make test-c: build and install library/bindings/c; compile, run and check C programs over the result.
#   CALLS    random calls of tests/interface.c (default 100000); a hundredth of them under Valgrind
#   CARGO_C  1: compile cargo-c, which takes 19 minutes of CPU time, and compare what it installs
set -eu
cd "$(dirname "$0")/.."
root=$PWD
calls=${CALLS:-100000}
target=${CARGO_TARGET_DIR:-$root/target}
prefix=$target/c-install
work=$target/c-tests
source=$root/bindings/c

need() { # need PROGRAM HINT
  command -v "$1" >/dev/null 2>&1 || { echo "test-c: $1 is missing: $2" >&2; exit 2; }
}
need "${CC:-cc}" "install a C compiler (gcc or clang)"
need "${CXX:-c++}" "install a C++ compiler (g++ or clang++)"
need pkg-config "apt-get install pkg-config"
need cmake "apt-get install cmake"
cc=${CC:-cc}
cxx=${CXX:-c++}

cargo test --quiet --locked -p mldsa-capi
sh scripts/c_library.sh build
rm -rf "$prefix"
PREFIX=$prefix LIBDIR=lib DESTDIR='' sh scripts/c_library.sh install

# The installed files: name, and target of a link.
files() { # files PREFIX
  (cd "$1" && find . ! -type d -printf '%P %l\n' | sed 's/ $//' | LC_ALL=C sort)
}
release=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml")
files "$prefix" | diff - /dev/fd/3 3<<EOF || { echo "test-c: other files are installed than by cargo-c" >&2; exit 1; }
include/mldsa.h
include/mldsa_hazmat.h
lib/libmldsa.a
lib/libmldsa.so libmldsa.so.$release
lib/libmldsa.so.${release%.*} libmldsa.so.$release
lib/libmldsa.so.$release
lib/pkgconfig/mldsa_lanes.pc
EOF
soname() { # soname PREFIX
  readelf -d "$1/lib/libmldsa.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}
[ "$(soname "$prefix")" = "libmldsa.so.${release%.*}" ] || { echo "test-c: libmldsa.so has no SONAME" >&2; exit 1; }

# The same by cargo-c, but for -lgcc_s. Not in target/tools, whose programs `make supply` replaces.
if [ "${CARGO_C:-}" = 1 ]; then
  version=0.10.18+cargo-0.92.0
  tools=$target/cargo-c
  # In a debug build: it is compiled in half the time, and the library is not slower for it.
  if [ "$(cat "$tools/version" 2>/dev/null)" != "$version" ]; then
    echo "test-c: cargo-c $version is compiled once, which takes some minutes"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools" "cargo-c@$version" || {
      echo "test-c: cargo-c cannot be compiled: apt-get install libssl-dev pkg-config cmake" >&2; exit 2; }
    echo "$version" >"$tools/version"
  fi
  other=$target/c-install-cargo-c
  rm -rf "$other" "$other-place"
  "$tools/bin/cargo-cinstall" cinstall --locked --profile capi --manifest-path "$source/Cargo.toml" --prefix "$prefix" \
    --libdir lib --destdir "$other-place" --target-dir "$target/capi-cargo-c"
  mv "$other-place$prefix" "$other"
  mkdir -p "$work"
  files "$prefix" >"$work/files"
  files "$other" | diff "$work/files" -
  diff -r "$prefix/include" "$other/include"
  [ "$(soname "$prefix")" = "$(soname "$other")" ]
  sed 's/-lgcc_s *//' "$other/lib/pkgconfig/mldsa_lanes.pc" | diff "$prefix/lib/pkgconfig/mldsa_lanes.pc" -
  symbols() { nm -D --defined-only "$1/lib/libmldsa.so" | awk '{print $3}' | LC_ALL=C sort; }
  symbols "$other" >"$work/symbols"
  symbols "$prefix" | diff - "$work/symbols"
fi

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
export LD_LIBRARY_PATH="$prefix/lib"
flags="-O1 -g -Wall -Wextra -Wpedantic -Wconversion -Werror"
uses="$(pkg-config --cflags mldsa_lanes)"
libs="$(pkg-config --libs mldsa_lanes)"
static="$prefix/lib/libmldsa.a $(pkg-config --static --libs mldsa_lanes | sed 's/-lmldsa //')"
mkdir -p "$work"
cd "$work"

# The shared library has no symbols but its own.
foreign=$(nm -D --defined-only "$prefix/lib/libmldsa.so" | awk '$2 ~ /[TDBR]/ && $3 !~ /^mldsa_/ {print $3}')
[ -z "$foreign" ] || { echo "test-c: libmldsa.so exports symbols without the prefix mldsa_: $foreign" >&2; exit 1; }

# The headers, alone and together, in C and C++.
for header in mldsa.h mldsa_hazmat.h; do
  echo "#include <$header>" >header.c
  # shellcheck disable=SC2086 # flags are words
  for standard in c90 c99 c11 c17; do $cc -std=$standard $flags $uses -fsyntax-only header.c; done
  # shellcheck disable=SC2086
  for standard in c++11 c++17 c++20; do $cxx -std=$standard -x c++ $flags $uses -fsyntax-only header.c; done
done

# Examples, and that of docs/c.md.
# shellcheck disable=SC2016 # the fences of Markdown
sed -n '/^```c$/,/^```$/p' "$root/../docs/c.md" | grep -v '^```' >document.c
# shellcheck disable=SC2086
$cc -std=c11 $flags $uses document.c -o document $libs
test "$(./document)" = success
# shellcheck disable=SC2046,SC2086
$cc -static -std=c11 $flags document.c $(pkg-config --static --cflags --libs mldsa_lanes) -o document-static
test "$(./document-static)" = success
sed -n '/^```cmake$/,/^```$/p' "$root/../docs/c.md" | grep -v '^```' >CMakeLists.txt
cp document.c program.c
cmake -S . -B cmake >/dev/null
cmake --build cmake >/dev/null
test "$(cmake/program)" = success

# The environment chooses the backend, and one that it cannot choose is an error.
test "$(MLDSA_LANES_BACKEND=portable ./document)" = success
MLDSA_LANES_BACKEND=abacus ./document >said && { echo "test-c: MLDSA_LANES_BACKEND=abacus was followed" >&2; exit 1; }
grep -q "^MLDSA_LANES_BACKEND or" said
for example in sign_file verify_file verify_batch; do
  # shellcheck disable=SC2086
  $cc -std=c11 $flags $uses "$source/examples/$example.c" -o "$example" $libs
done
./verify_batch >said
echo "message 7: invalid signature" | cmp - said

# The interface: shared, static, under AddressSanitizer, under Valgrind.
# shellcheck disable=SC2086
$cc -std=c11 $flags $uses "$source/tests/interface.c" -o interface $libs
./interface "$calls"
# shellcheck disable=SC2086
$cc -std=c11 $flags $uses "$source/tests/interface.c" -o interface-static $static
./interface-static 1000 2
MLDSA_LANES_BACKEND=portable ./interface-static 10 2 | grep -q "backend portable"

# Without threads, without memory, in children of fork.
# shellcheck disable=SC2086
$cc -std=c11 $flags $uses "$source/tests/limits.c" -o limits $libs -lpthread -ldl
for limit in threads memory fork; do ./limits $limit; done

# Keys in PEM files, by the static library, and the signature of a file.
# shellcheck disable=SC2086
$cc -std=c11 $flags $uses "$source/tests/files.c" -o files $static
./files key.pem public.pem
head -c 100000 interface >file
./sign_file key.pem file signature
test "$(./verify_file public.pem file signature)" = valid
echo more >>file
if ./verify_file public.pem file signature 2>said; then echo "test-c: verify_file took another file" >&2; exit 1; fi
grep -q "invalid signature" said

echo 'int main(void) { return 0; }' >empty.c
if $cc -fsanitize=address,undefined empty.c -o empty 2>/dev/null && ./empty; then
  # shellcheck disable=SC2086
  $cc -std=c11 $flags -fsanitize=address,undefined -fno-sanitize-recover $uses "$source/tests/interface.c" -o interface-asan $libs
  ASAN_OPTIONS=detect_leaks=1 ./interface-asan "$calls" 3
else
  echo "test-c: skipped under AddressSanitizer, $cc has none: apt-get install libasan8"
fi
if command -v valgrind >/dev/null 2>&1; then
  # Blocks of 25 instructions instead of 60, as docs/c.md says.
  valgrind --quiet --vex-guest-max-insns=25 --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite ./interface "$((calls / 100))" 4
else
  echo "test-c: skipped under Valgrind, which is missing: apt-get install valgrind"
fi
echo "test-c: right"
