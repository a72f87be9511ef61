//! The choice of a backend by the environment and by `disable`. The choice is the process's, so
//! each case runs in a process of its own: this test's binary again, asked for `child` only.

use std::process::Command;

use mldsa_lanes::{Backend, Feature};

/// What a process says that has `disable`d each of `MLDSA_TEST_DISABLE` after its first choice.
#[test]
#[ignore = "runs in the processes that the other tests start"]
fn child() {
    let before = Backend::detect();
    let late = std::env::var("MLDSA_TEST_DISABLE").unwrap_or_default();
    for name in late.split(',').filter(|name| !name.is_empty()) {
        Backend::disable(Feature::by_name(name).unwrap());
    }
    let available: Vec<_> = Backend::available().map(Backend::name).collect();
    // With one thread the test's name stands before what it prints.
    println!("\nbefore={}", before.name());
    println!("detected={}", Backend::detect().name());
    println!("available={}", available.join(","));
    #[cfg(feature = "std")]
    match Backend::from_environment() {
        Ok(named) => println!("environment={}", named.map_or("none", Backend::name)),
        Err(error) => println!("environment=error: {error}"),
    }
    for backend in Backend::available() {
        assert_eq!(Backend::by_name(backend.name()), Some(backend));
    }
    assert_eq!(Backend::by_name("portable"), Some(Backend::portable()));
}

struct Said {
    out: String,
    err: String,
}

impl Said {
    fn value(&self, key: &str) -> &str {
        let line = |line: &&str| line.starts_with(key) && line[key.len()..].starts_with('=');
        match self.out.lines().find(line) {
            Some(line) => &line[key.len() + 1..],
            None => panic!("no {key} in {}", self.out),
        }
    }
    fn available(&self) -> Vec<&str> {
        self.value("available").split(',').collect()
    }
}

fn process(variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    for name in [
        "MLDSA_LANES_BACKEND",
        "MLDSA_LANES_DISABLE",
        "MLDSA_TEST_DISABLE",
    ] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(output.status.success(), "{}{}", said.out, said.err);
    said
}

/// What each backend needs, as the documents say.
fn needs(backend: &str) -> &'static [&'static str] {
    match backend {
        "portable" => &[],
        "avx2" => &["avx2"],
        "avx512" => &["avx2", "avx512"],
        "avx512-vbmi" => &["avx2", "avx512", "vbmi"],
        "neon" => &["neon"],
        "neon-sha3" => &["neon", "sha3"],
        other => panic!("{other} is not in this list"),
    }
}

#[test]
fn without_variables_the_fastest_is_chosen() {
    let said = process(&[]);
    let available = said.available();
    assert_eq!(available[0], "portable");
    assert_eq!(said.value("detected"), *available.last().unwrap());
    #[cfg(feature = "std")]
    assert_eq!(said.value("environment"), "none");
    assert!(!said.err.contains("mldsa-lanes"), "{}", said.err);
}

#[test]
fn a_disabled_feature_takes_its_backends_away_early_or_late() {
    let plain = process(&[]);
    for feature in Feature::ALL.map(Feature::name) {
        let left: Vec<&str> = plain
            .available()
            .into_iter()
            .filter(|backend| !needs(backend).contains(&feature))
            .collect();
        let late = process(&[("MLDSA_TEST_DISABLE", feature)]);
        assert_eq!(late.available(), left, "{feature}");
        assert_eq!(late.value("detected"), *left.last().unwrap(), "{feature}");
        assert_eq!(late.value("before"), plain.value("detected"));
        if cfg!(feature = "std") {
            let early = process(&[("MLDSA_LANES_DISABLE", feature)]);
            assert_eq!(early.available(), left, "{feature}");
            assert_eq!(early.value("before"), *left.last().unwrap(), "{feature}");
            assert_eq!(early.value("environment"), "none");
            assert!(!early.err.contains("mldsa-lanes"), "{}", early.err);
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn a_named_backend_is_chosen_until_it_is_taken_away() {
    for name in process(&[]).available() {
        let said = process(&[("MLDSA_LANES_BACKEND", name)]);
        assert_eq!(said.value("detected"), name);
        assert_eq!(said.value("environment"), name);
        assert_eq!(said.available(), process(&[]).available());
        for feature in needs(name) {
            let said = process(&[
                ("MLDSA_LANES_BACKEND", name),
                ("MLDSA_TEST_DISABLE", feature),
            ]);
            assert_eq!(said.value("before"), name);
            assert_eq!(
                said.value("detected"),
                *said.available().last().unwrap(),
                "{name}"
            );
            assert!(!said.available().contains(&name));
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn what_cannot_be_followed_is_said_once_and_changes_nothing_else() {
    let plain = process(&[]);
    for name in ["avx1024", "Portable", "portable,avx2"] {
        let said = process(&[("MLDSA_LANES_BACKEND", name)]);
        assert_eq!(said.value("detected"), plain.value("detected"));
        let complaint = format!("MLDSA_LANES_BACKEND: no backend `{name}` here");
        assert!(said.value("environment").contains(&complaint));
        assert_eq!(said.err.matches(&complaint).count(), 1, "{}", said.err);
    }
    // Of a list, what is known is done.
    let said = process(&[("MLDSA_LANES_DISABLE", "avx2,avx3,neon")]);
    assert_eq!(said.available(), ["portable"]);
    let complaint = "MLDSA_LANES_DISABLE: no feature `avx3`";
    assert!(said.value("environment").contains(complaint));
    assert_eq!(said.err.matches(complaint).count(), 1, "{}", said.err);
    // A backend that the other variable denies.
    for name in plain.available().into_iter().skip(1) {
        let said = process(&[
            ("MLDSA_LANES_BACKEND", name),
            ("MLDSA_LANES_DISABLE", "avx2,neon"),
        ]);
        assert_eq!(said.value("detected"), "portable");
        assert!(said.value("environment").starts_with("error: "));
    }
}
