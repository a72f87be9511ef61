//! Tokens against the CPU features that their entry points are compiled with.

use std::collections::BTreeSet;
use std::string::String;
use std::vec::Vec;

/// The CPU features that rustc compiles with where `enabled` are asked for.
fn features(target: &str, enabled: &str) -> BTreeSet<String> {
    let asked = enabled
        .split(',')
        .map(|feature| std::format!("+{feature},"));
    let asked = asked.filter(|feature| feature != "+,").collect::<String>();
    let told = std::process::Command::new("rustc")
        .args(["--print", "cfg", "--target", target, "-C"])
        .arg(std::format!(
            "target-feature={}",
            asked.trim_end_matches(',')
        ))
        .output()
        .expect("rustc runs");
    assert!(told.status.success(), "{target}, {enabled}");
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    let names = told
        .lines()
        .filter_map(|line| line.strip_prefix("target_feature="));
    names.map(|name| name.trim_matches('"').into()).collect()
}

/// All files of a backend's folder.
fn source(name: &str) -> String {
    let backends = concat!(env!("CARGO_MANIFEST_DIR"), "/../mldsa-lanes/src/backend");
    let files = std::fs::read_dir(std::path::Path::new(backends).join(name)).unwrap();
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

/// The features in a list of `cpufeatures`.
fn detected(text: &str, list: &str) -> BTreeSet<String> {
    let mut lists = text.split("cpufeatures::new!(");
    let all = lists.find(|part| part.trim_start().starts_with(list));
    let all = all.expect(list).split(");").next().unwrap();
    all.split('"')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

/// A function with CPU features runs where its token is: so every feature that it is compiled
/// with, implied ones too, must be one that the token's `detect` has found.
#[test]
#[cfg_attr(miri, ignore = "runs rustc")]
fn tokens_prove_all_features_of_their_entry_points() {
    let (text256, text512, text_arm) = (source("avx2"), source("avx512"), source("neon"));
    let avx2 = detected(&text256, "cpu_has_avx2");
    let mut avx512 = &avx2 | &detected(&text512, "cpu_has_avx512");
    let f16c = "cpu_has_avx512::get() && (cfg!(target_feature = \"f16c\") || cpu_has_f16c());";
    avx512.extend(text512.contains(f16c).then(|| "f16c".into()));
    let sha3 = detected(&text_arm, "cpu_has_sha3");
    for (target, text, proved, engine, engine_proved, attributes) in [
        ("x86_64-unknown-linux-gnu", text256, &avx2, "Avx2", &avx2, 4),
        (
            "x86_64-unknown-linux-gnu",
            text512,
            &avx512,
            "Avx512",
            &avx512,
            4,
        ),
        (
            "aarch64-unknown-linux-gnu",
            text_arm,
            &BTreeSet::new(),
            "NeonSha3",
            &sha3,
            4,
        ),
    ] {
        let mut seen = 0;
        for (at, start) in text.match_indices("enable = \"") {
            let enabled = text[at + start.len()..].split('"').next().unwrap();
            // The macro that the attribute is an argument of, if it is one, names its engine first.
            let (_, inside) = text[..at].rsplit_once("!(").unwrap_or_default();
            let first = inside.split(',').next().map(str::trim);
            let of_engine = !inside.contains(';') && first == Some(engine);
            // The token that the function takes.
            let (_, function) = text[at..].split_once("fn ").unwrap_or_default();
            let arguments = function.split(')').next().unwrap_or_default();
            let proved = if of_engine || arguments.contains(&std::format!(": {engine},")) {
                engine_proved
            } else {
                proved
            };
            let compiled = &features(target, enabled) - &features(target, "");
            let missing: Vec<_> = compiled.difference(proved).collect();
            assert!(missing.is_empty(), "{enabled}: {missing:?} not detected");
            seen += 1;
        }
        assert!(seen >= attributes, "{target}: {seen} attributes found");
    }
}
