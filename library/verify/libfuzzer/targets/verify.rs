#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mldsa_fuzz::run("verify", data));
