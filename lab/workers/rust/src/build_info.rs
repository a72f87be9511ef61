//! What the build script recorded: `BUILD`, `C_AVX512VL` (whether C code may use it), and one version
//! constant per peer.

include!(concat!(env!("OUT_DIR"), "/build_info.rs"));

/// What a backend may be called: by its own name where the compiler was held to its instructions,
/// else with `+native` behind it. Allowed those of the CPU at hand, LLVM gives AVX2 code the ternary
/// logic and rotations of AVX-512VL, AVX-512 code the permutations of VBMI, and NEON code the three-way
/// exclusive or of SHA3.
pub fn backend_name(name: &'static str, allowed: impl Fn(&str) -> bool) -> &'static str {
    const BEYOND: [(&str, &str, &str); 4] = [
        ("avx2", "avx512vl", "avx2+native"),
        ("avx512", "avx512vbmi", "avx512+native"),
        ("simd256", "avx512vl", "simd256+native"),
        ("neon", "sha3", "neon+native"),
    ];
    BEYOND
        .into_iter()
        .find(|(known, feature, _)| *known == name && allowed(feature))
        .map_or(name, |(_, _, other)| other)
}

/// Whether rustc may use this CPU feature anywhere, and not only in functions that ask for it.
pub fn rust_allowed(feature: &str) -> bool {
    match feature {
        "avx512vl" => cfg!(target_feature = "avx512vl"),
        "avx512vbmi" => cfg!(target_feature = "avx512vbmi"),
        "sha3" => cfg!(target_feature = "sha3"),
        _ => false,
    }
}

/// The same of the C compiler.
pub fn c_allowed(feature: &str) -> bool {
    feature == "avx512vl" && C_AVX512VL
}
