//! A short session of every target, and a short soak. `MLDSA_FUZZ_SECONDS` and `MLDSA_SOAK_SECONDS`
//! make them longer; `MLDSA_FUZZ_SEED` repeats one.

use mldsa_fuzz::session::{fresh_seed, number, session};
use mldsa_fuzz::{soak, target};
use std::time::Duration;

fn seed() -> u64 {
    number("MLDSA_FUZZ_SEED", fresh_seed())
}

fn bounded(name: &str) {
    let (target, seed) = (target(name).unwrap(), seed());
    let time = Duration::from_secs(number("MLDSA_FUZZ_SECONDS", 3));
    match session(target, time, seed) {
        Ok(inputs) => println!("{name}: {inputs} inputs, seed {seed}"),
        Err(found) => panic!("seed {seed}: {}: {}", found.file.display(), found.said),
    }
}

macro_rules! sessions {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            bounded(stringify!($name));
        }
    )* };
}
sessions!(verify decode agree backends batch);

/// No target is left out above, nor of libFuzzer's programs.
#[test]
fn all_targets_have_a_session() {
    let sessions = include_str!("bounded.rs");
    let programs = include_str!("../../libfuzzer/Cargo.toml");
    for target in &mldsa_fuzz::TARGETS {
        let name = target.name;
        let mut listed = sessions
            .lines()
            .filter_map(|line| line.strip_prefix("sessions!("));
        let listed = listed.next().unwrap().trim_end_matches(");");
        assert!(listed.split(' ').any(|word| word == name), "{name}");
        let text = format!("fuzz_target!(|data: &[u8]| mldsa_fuzz::run(\"{name}\", data));");
        let file = format!(
            "{}/../libfuzzer/targets/{name}.rs",
            env!("CARGO_MANIFEST_DIR")
        );
        assert!(
            std::fs::read_to_string(&file).unwrap().contains(&text),
            "{file}"
        );
        assert!(
            programs.contains(&format!("path = \"targets/{name}.rs\"")),
            "{name}"
        );
    }
}

#[test]
fn soak_for_a_while() {
    let time = Duration::from_secs(number("MLDSA_SOAK_SECONDS", 30));
    let report = soak::soak(time, 2, seed());
    println!("{report}");
    assert!(report.is_good(), "{report}");
}
