//! Builds wolfSSL's ML-DSA twice, once with its ML-KEM, from the package's source, and records the build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "../../loop/build_info.rs"]
mod build_info;
#[path = "../../../../library/verify/mldsa-acvp/package.rs"]
mod package;

const FILES: [&str; 12] = [
    "wc_mlkem.c",
    "wc_mlkem_poly.c",
    "wc_mlkem_asm.S",
    "wc_mldsa.c",
    "wc_mldsa_asm.S",
    "sha3.c",
    "sha3_asm.S",
    "cpuid.c",
    "error.c",
    "hash.c",
    "memory.c",
    "wc_port.c",
];

/// The interface that the adapter calls; in the library with caches `cached_` is before each name.
const INTERFACE: [&str; 11] = [
    "wolfCrypt_Init",
    "wc_MlDsaKey_New",
    "wc_MlDsaKey_Delete",
    "wc_MlDsaKey_SetParams",
    "wc_MlDsaKey_MakeKeyFromSeed",
    "wc_MlDsaKey_ImportPrivRaw",
    "wc_MlDsaKey_ImportPubRaw",
    "wc_MlDsaKey_ExportPrivRaw",
    "wc_MlDsaKey_ExportPubRaw",
    "wc_MlDsaKey_SignCtxWithSeed",
    "wc_MlDsaKey_VerifyCtx",
];

fn main() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = package::folder(&own.join("source/Cargo.toml"), "wolfssl-sys-5.3.0")
        .unwrap_or_else(|reason| panic!("wolfSSL's source: {reason}"))
        .join("wolfssl-src");
    for read in ["build.rs", "user_settings.h", "source"] {
        println!("cargo::rerun-if-changed={read}");
    }
    let version = fs::read_to_string(source.join("wolfssl/version.h")).expect("version.h is there");
    let version = version
        .split_once("LIBWOLFSSL_VERSION_STRING ")
        .and_then(|(_, rest)| rest.lines().next())
        .expect("version.h has the version");
    build_info::record(&[], &format!("pub const VERSION: &str = {version};\n"));

    library(&source, own).compile("wolfssl");
    let mut cached = library(&source, own);
    cached
        .define("WC_MLDSA_CACHE_PRIV_VECTORS", None)
        .define("WC_MLDSA_CACHE_PUB_VECTORS", None);
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let object = renamed(cached.compile_intermediates(), &out.join("cached.o"));
    cc::Build::new().object(object).compile("wolfssl_cached");
}

/// The library as its own build makes it, -O2 and not Cargo's -O3; CFLAGS come later and prevail.
fn library(source: &Path, settings: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .files(FILES.map(|file| source.join("wolfcrypt/src").join(file)))
        .includes([source, settings])
        .define("WOLFSSL_USER_SETTINGS", None)
        .define("BUILDING_WOLFSSL", None)
        .opt_level(2)
        .warnings(false);
    build
}

/// The objects as one, in which `cached_` stands before the names of the interface and no other name
/// can be seen, so that it links beside the library without caches.
fn renamed(objects: Vec<PathBuf>, to: &Path) -> PathBuf {
    let mut link = Command::new("ld");
    link.arg("-r").arg("-o").arg(to).args(objects);
    let mut rename = Command::new("objcopy");
    for name in INTERFACE {
        rename.arg(format!("--redefine-sym={name}=cached_{name}"));
        rename.arg(format!("--keep-global-symbol=cached_{name}"));
    }
    rename.arg(to);
    for mut command in [link, rename] {
        let status = command.status();
        assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    }
    to.to_owned()
}
