#!/bin/sh
# The AVX-512 backend on a CPU without AVX-512: the library's tests, linked statically, as the only
# programs of a small Linux inside Bochs, which emulates whole machines with AVX-512 (Valgrind and
# QEMU do not).
#
# Bochs needs about a minute for the boot and runs tests a hundred times slower than the CPU. So each
# machine tests its one backend only, and without the argument `all` the longest tests are left out:
# those that sign with many keys or in many attempts, and do on a CPU with AVX-512 in `make test`.
#
# It needs the Debian packages below, which the argument `install` installs; the kernel is downloaded
# by apt-get and not installed.
packages="bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso cpio busybox-static"
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = install ]; then
  dpkg -s $packages >/dev/null 2>&1 \
    || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages >/dev/null; }
  exit
fi
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/bochs"
work=$(cd "$target/bochs" && pwd)

isolinux=/usr/lib/ISOLINUX/isolinux.bin
ldlinux=/usr/lib/syslinux/modules/bios/ldlinux.c32
bios=/usr/share/bochs/BIOS-bochs-latest
vga=/usr/share/vgabios/vgabios.bin
for tool in bochs xorriso cpio busybox cargo rustup; do
  command -v $tool >/dev/null || { echo "test_avx512: $tool is missing: apt-get install $packages" >&2; exit 2; }
done
for file in $isolinux $ldlinux $bios $vga; do
  [ -e $file ] || { echo "test_avx512: $file is missing: apt-get install $packages" >&2; exit 2; }
done

# The kernel: Debian's for cloud machines, which unpacks fast. The last name is the newest.
kernel() {
  package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p' | sort -V | tail -1)
  (cd "$work" && apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb kernel && rm -f "$package"_*.deb)
}
if ! ls "$work"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
  # A second time with fresh lists: old ones name versions that are gone.
  kernel || { apt-get update -qq && kernel; }
fi

# The tests, with the library's debug assertions: the bounds of each kernel are checked too.
musl=x86_64-unknown-linux-musl
rustup target add $musl
export CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_TEST_STRIP=symbols
{
  cargo test --locked --no-run --target $musl -p mldsa-inside --lib --test suite
  cargo test --locked --no-run --target $musl -p mldsa-lanes --all-features --test selection
} 2>&1 | tee "$work/build.txt"

few_vectors=wycheproof::verification
few_answers=acvp::key_generation
few_rejections=acvp_rejection_cases
few_verified='bug_02 bug_03 sets_do_not_mix'
few_signed='bug_07 bug_09'
if [ "${1:-}" = all ]; then
  few_vectors=wycheproof:: few_answers=acvp:: few_rejections=rejection_paths:: few_verified=past_bugs_verify::
  # It reads the library's text, which is not on the disk.
  few_signed='past_bugs_sign:: --skip bug_06'
fi

# machine NAME MODEL BACKEND PRESENT: a disk that tests BACKEND, and its run. PRESENT: what is there.
machine() {
  name=$1 model=$2 backend=$3 present=$4
  root="$work/$name/root" disk="$work/$name/disk"
  rm -rf "${work:?}/$name"
  mkdir -p "$root/bin" "$root/tests" "$disk/isolinux"
  cp "$(command -v busybox)" "$root/bin/"
  sed -n 's/.*Executable .*(\(.*\))$/\1/p' "$work/build.txt" | while read -r file; do
    cp "$file" "$root/tests/$(basename "$file" | sed 's/-[0-9a-f]*$//')"
  done
  cat > "$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
export MLDSA_EXPECT_BACKENDS=$present MLDSA_ONLY_BACKENDS=$backend
export RUST_TEST_THREADS=1 RUST_BACKTRACE=0
try() {
  echo "@ \$*"
  /tests/"\$@" && echo "@ passed"
}
try mldsa_lanes $(echo "$backend" | tr - _)_kernels
try mldsa_lanes one_state_in_each_form
try selection
try suite $few_vectors
try suite $few_rejections
try suite $few_verified
try suite $few_signed
try suite $few_answers
echo "@ end"
# Until the serial line has sent everything.
/bin/busybox sleep 5
/bin/busybox poweroff -f
INIT
  chmod +x "$root/init"
  (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) > "$disk/initrd"
  cp "$work"/kernel/boot/vmlinuz-* "$disk/vmlinuz"
  cp $isolinux $ldlinux "$disk/isolinux/"
  # What Linux must not use: Bochs 2.7 tells a wrong size for compacted XSAVE areas and none for
  # protection keys, and has FSRM without the fast strings that Linux takes it to imply.
  cat > "$disk/isolinux/isolinux.cfg" <<CONFIG
default tests
prompt 0
label tests
 kernel /vmlinuz
 initrd /initrd
 append console=ttyS0 quiet loglevel=3 mitigations=off nokaslr panic=-1 lsm= clearcpuid=pku,xsaves,xsavec,fsrm
CONFIG
  xorriso -as mkisofs -quiet -o "$work/$name/disk.iso" -b isolinux/isolinux.bin \
    -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$disk" 2>/dev/null
  cat > "$work/$name/bochsrc" <<CONFIG
megs: 512
romimage: file=$bios
vgaromimage: file=$vga
cpu: model=$model, count=1, ips=100000000, reset_on_triple_fault=0
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/$name/disk.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/$name/serial.txt
display_library: rfb, options="timeout=0"
clock: sync=none
log: $work/$name/bochs.log
panic: action=fatal
CONFIG
  # Debian's Bochs has a debugger, which waits for this word.
  echo c > "$work/$name/start"
  # Its screen takes a port at once or not at all: two machines that start together may both want
  # the same one. It ends with status 1 when the machine switches itself off, so the status says
  # nothing; what was written does.
  for delay in 1 2 4 8 16; do
    timeout 3000 bochs -q -f "$work/$name/bochsrc" -rc "$work/$name/start" \
      > "$work/$name/bochs.txt" 2>&1 < /dev/null || true
    grep -q 'could not bind' "$work/$name/bochs.log" || break
    sleep $delay
  done
}

# verdict NAME: what the machine said, and whether all of it ran, with at least one test each.
verdict() {
  said="$work/$1/serial.txt"
  echo "== $1"
  [ -e "$said" ] || { tail -n 5 "$work/$1/bochs.log"; return 1; }
  tr -d '\r' < "$said" | grep -v '^ *$'
  tried=$(grep -c '^@ [a-z_]*.*' "$said") passed=$(grep -c '^@ passed' "$said") || true
  grep -q '^@ end' "$said" && ! grep -q 'running 0 tests' "$said" \
    && [ "$passed" -gt 0 ] && [ "$tried" -eq $((2 * passed + 1)) ]
}

machine plain corei7_skylake_x avx512 portable,avx2,avx512
verdict plain || { echo "test_avx512: failed" >&2; exit 1; }
