#!/bin/sh
# make ct: no branch, index or division of mldsa-lanes depends on a secret (library/evidence/constant-time.md).
# MLDSA_EXPECT_BACKENDS, where set, names the backends that must be checked (of those that Valgrind
# can run: portable and avx2); otherwise they are those of this CPU.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "ct: written for Linux on x86-64; this is $(uname -sm)" >&2
  exit 2
fi
for tool in valgrind objdump; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "ct: $tool is missing: apt-get install valgrind libc6-dbg binutils" >&2
    exit 2
  }
done

expected=${MLDSA_EXPECT_BACKENDS:-}
if [ -z "$expected" ]; then
  expected=portable
  if grep -qw avx2 /proc/cpuinfo; then expected=portable,avx2; fi
fi
backends=
for name in $(echo "$expected" | tr ',' ' '); do
  case $name in
    portable | avx2) backends="$backends $name" ;;
    *) echo "ct: $name is left out, Valgrind does not run its instructions" ;;
  esac
done
[ -n "$backends" ] || { echo "ct: no backend of '$expected' can be checked" >&2; exit 2; }

for site in $(grep -rhoE 'Site::[A-Z][a-z][A-Za-z0-9]*' crates/mldsa-lanes/src | cut -d: -f3 | sort -u); do
  grep -q "^| .$site. |" evidence/constant-time.md || {
    echo "ct: the table in library/evidence/constant-time.md has no line for $site" >&2
    exit 1
  }
done

target=${CARGO_TARGET_DIR:-target}/ct
program=$target/tuned/mldsa-ct
RUSTFLAGS="${RUSTFLAGS:-} --cfg mldsa_ct" CARGO_PROFILE_TUNED_DEBUG=line-tables-only \
  cargo build --locked --profile tuned --quiet --package mldsa-ct --target-dir "$target"

# Blocks of 25 instructions instead of 60: longer ones of vpabsd, a long expression to Valgrind, use
# up the memory of its compiler. The expensive checks follow carries and comparisons bit by bit.
memcheck() {
  valgrind --quiet --tool=memcheck --error-limit=no --expensive-definedness-checks=yes \
    --vex-guest-max-insns=25 "$@"
}

echo "ct: $(rustc --version), $(valgrind --version)"
echo "ct: leaks made on purpose, each of which has to be reported"
# shellcheck disable=SC2086 # one word for each backend
memcheck --log-file="$target/leaks.log" "$program" leaks $backends || {
  echo "ct: a leak would pass unnoticed, or the program failed; Valgrind's words: $target/leaks.log" >&2
  exit 1
}
echo "ct: the library"
# shellcheck disable=SC2086
memcheck --error-exitcode=1 "$program" check $backends || {
  echo "ct: a branch or an index depends on a secret, or the program failed: see above" >&2
  exit 1
}

# Valgrind does not report divisions, whose time depends on their operands.
objdump --disassemble --no-show-raw-insn "$program" >"$target/program.s"
awk -v known_file=scripts/ct_divisions.txt '
  BEGIN {
    while ((getline line < known_file) > 0)
      if (line !~ /^(#|$)/) { split(line, part, " "); allowed[part[1]] = part[2] }
  }
  /^[0-9a-f]+ <.*>:$/ { name = $2; ours = name ~ /mldsa_(lanes|ct)/; functions += ours }
  ours && ($2 ~ /^i?div[bwlq]?$/ || /call.*<__u?(div|mod)[a-z]*3>/) {
    if (name ~ /divides_on_purpose/) { proof++; next }
    for (pattern in allowed) if (name ~ pattern) { found[pattern]++; next }
    print "ct: a division in " name " at " $1; bad++
  }
  END {
    for (pattern in found) if (found[pattern] > allowed[pattern]) {
      print "ct: " found[pattern] " divisions in " pattern ", " allowed[pattern] " are known"; bad++
    }
    if (!proof) { print "ct: the search misses a division made on purpose"; bad++ }
    if (!bad) print "no division by or of a secret: " functions " functions searched"
    exit bad > 0
  }' "$target/program.s" || {
  echo "ct: if its operands are public, scripts/ct_divisions.txt may name it" >&2
  exit 1
}
