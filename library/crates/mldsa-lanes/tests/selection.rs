//! The choice of a backend by the environment and by `disable_for_process`. The choice is the process's, so
//! each case runs in a process of its own: this test's binary again, asked for `child` only.

use std::process::Command;

use mldsa_lanes::mldsa44::{SigningKey, VerifyingKey};
use mldsa_lanes::{Backend, Feature};

/// Asks the environment if `MLDSA_TEST_ASK` is there, then disables each of `MLDSA_TEST_DISABLE`, and
/// prints what is chosen before, between and after. What was promised to keys of before is checked.
#[test]
#[ignore = "runs in the processes that the other tests start"]
fn child() {
    // With one thread the test's name stands before what it prints.
    println!("\nfirst={}", Backend::detect().name());
    #[cfg(feature = "std")]
    if std::env::var_os("MLDSA_TEST_ASK").is_some() {
        match Backend::use_environment() {
            Ok(named) => println!("environment={}", named.map_or("none", Backend::name)),
            Err(error) => println!("environment=error: {error}"),
        }
    }
    println!("asked={}", Backend::detect().name());
    let saved: Vec<Backend> = Backend::available().collect();
    let keys: Vec<SigningKey> = saved
        .iter()
        .map(|backend| SigningKey::from_seed_on(*backend, &[9; 32]))
        .collect();
    let late = std::env::var("MLDSA_TEST_DISABLE").unwrap_or_default();
    for name in late.split(',').filter(|name| !name.is_empty()) {
        Backend::disable_for_process(Feature::by_name(name).unwrap());
    }
    let available: Vec<_> = Backend::available().map(Backend::name).collect();
    println!("detected={}", Backend::detect().name());
    println!("available={}", available.join(","));
    for backend in Backend::available() {
        assert_eq!(Backend::by_name(backend.name()), Some(backend));
        assert_eq!(backend.c_name().to_str(), Ok(backend.name()));
    }
    assert_eq!(Backend::by_name("portable"), Some(Backend::portable()));
    for (saved, key) in saved.into_iter().zip(keys) {
        a_key_keeps_its_backend(saved, &key);
        let granted = Backend::by_name(saved.name()).unwrap_or(Backend::detect());
        for (way, backend) in made_with(saved) {
            assert_eq!(backend, granted, "{way} with {}", saved.name());
        }
    }
}

fn a_key_keeps_its_backend(saved: Backend, key: &SigningKey) {
    let public = key.verifying_key();
    assert_eq!(key.backend(), saved);
    assert_eq!(public.backend(), saved);
    #[cfg(feature = "alloc")]
    {
        assert_eq!(key.expand().backend(), saved);
        assert_eq!(public.expand().backend(), saved);
    }
    let signature = key.sign_deterministic(b"m").unwrap();
    assert_eq!(public.verify_signature(b"m", &signature), Ok(()));
}

/// The backends of keys that are made with `saved`, in every way that there is.
fn made_with(saved: Backend) -> Vec<(&'static str, Backend)> {
    let key = SigningKey::from_seed_on(saved, &[9; 32]);
    let bytes = key.encoded_bytes();
    let imported = SigningKey::from_encoded_bytes_on(saved, bytes).unwrap();
    let public = VerifyingKey::from_bytes(key.verifying_key().as_bytes()).unwrap();
    #[allow(unused_mut, reason = "without `alloc` there are no more")]
    let mut made = vec![
        ("from_seed_on", key.backend()),
        ("from_encoded_bytes_on", imported.backend()),
        ("SigningKey", key.with_backend(saved).backend()),
        ("VerifyingKey", public.with_backend(saved).backend()),
    ];
    #[cfg(feature = "alloc")]
    {
        use mldsa_lanes::MlDsa44;
        use mldsa_lanes::batch;
        let seeds = [[9; 32]; 3];
        let keys = batch::keygen::<MlDsa44>(saved, &seeds);
        made.extend(keys.iter().map(|key| ("batch::keygen", key.backend())));
        let mut keys = Vec::new();
        batch::keygen_expanded::<MlDsa44>(saved, &seeds, &mut keys);
        made.extend(keys.iter().map(|key| ("keygen_expanded", key.backend())));
    }
    #[cfg(feature = "rayon")]
    {
        let keys = mldsa_lanes::batch::parallel::keygen::<mldsa_lanes::MlDsa44>(saved, &[[9; 32]]);
        made.extend(keys.iter().map(|key| ("parallel::keygen", key.backend())));
    }
    made
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
    fn fastest(&self) -> &str {
        self.available().last().unwrap()
    }
}

fn process(variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    for name in [
        "MLDSA_LANES_BACKEND",
        "MLDSA_LANES_DISABLE",
        "MLDSA_TEST_ASK",
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
    // The library prints nothing, whatever it is given.
    assert!(!said.err.to_lowercase().contains("mldsa"), "{}", said.err);
    said
}

/// What each backend needs, as the documents say.
fn needs(backend: &str) -> &'static [&'static str] {
    match backend {
        "portable" => &[],
        "avx2" => &["avx2"],
        "avx512" => &["avx2", "avx512"],
        "neon" => &["neon"],
        "neon-sha3" => &["neon", "sha3"],
        other => panic!("{other} is not in this list"),
    }
}

/// What is left of a plain process's backends without `feature`.
fn left<'a>(plain: &'a Said, feature: &str) -> Vec<&'a str> {
    let mut names = plain.available();
    names.retain(|backend| !needs(backend).contains(&feature));
    names
}

#[test]
fn the_fastest_is_chosen_and_the_environment_not_asked() {
    let plain = process(&[]);
    assert_eq!(plain.available()[0], "portable");
    for (backend, disable) in [("", ""), ("portable", "avx2,neon"), ("typo", "typo")] {
        let said = process(&[
            ("MLDSA_LANES_BACKEND", backend),
            ("MLDSA_LANES_DISABLE", disable),
        ]);
        assert_eq!(said.available(), plain.available());
        assert_eq!(said.value("detected"), plain.fastest());
    }
}

#[test]
fn a_disabled_feature_takes_its_backends_away() {
    let plain = process(&[]);
    for feature in Feature::ALL.map(Feature::name) {
        let left = left(&plain, feature);
        let said = process(&[("MLDSA_TEST_DISABLE", feature)]);
        assert_eq!(said.available(), left, "{feature}");
        assert_eq!(said.value("detected"), *left.last().unwrap(), "{feature}");
        assert_eq!(said.value("first"), plain.fastest());
    }
}

#[cfg(feature = "std")]
mod environment {
    use super::{Feature, left, needs, process};

    const ASK: (&str, &str) = ("MLDSA_TEST_ASK", "1");

    #[test]
    fn empty_variables_change_nothing() {
        let plain = process(&[]);
        let said = process(&[
            ASK,
            ("MLDSA_LANES_BACKEND", ""),
            ("MLDSA_LANES_DISABLE", " ,"),
        ]);
        assert_eq!(said.value("environment"), "none");
        assert_eq!(said.value("detected"), plain.fastest());
        assert_eq!(said.available(), plain.available());
    }

    #[test]
    fn features_are_taken_away() {
        let plain = process(&[]);
        for feature in Feature::ALL.map(Feature::name) {
            let said = process(&[ASK, ("MLDSA_LANES_DISABLE", feature)]);
            let left = left(&plain, feature);
            assert_eq!(said.available(), left, "{feature}");
            assert_eq!(said.value("first"), plain.fastest(), "{feature}");
            assert_eq!(said.value("asked"), *left.last().unwrap(), "{feature}");
            assert_eq!(said.value("environment"), "none");
        }
    }

    #[test]
    fn a_named_backend_is_chosen_until_it_is_taken_away() {
        let plain = process(&[]);
        for name in plain.available() {
            let said = process(&[ASK, ("MLDSA_LANES_BACKEND", name)]);
            assert_eq!(said.value("first"), plain.fastest());
            assert_eq!(said.value("detected"), name);
            assert_eq!(said.value("environment"), name);
            assert_eq!(said.available(), plain.available());
            for feature in needs(name) {
                let late = ("MLDSA_TEST_DISABLE", *feature);
                let said = process(&[ASK, ("MLDSA_LANES_BACKEND", name), late]);
                assert_eq!(said.value("asked"), name);
                assert_eq!(said.value("detected"), said.fastest(), "{name}");
                assert!(!said.available().contains(&name));
            }
        }
    }

    #[test]
    fn one_bad_word_is_an_error_and_nothing_is_followed() {
        let plain = process(&[]);
        let refused = |backend, disable, start: &str| {
            let said = process(&[
                ASK,
                ("MLDSA_LANES_BACKEND", backend),
                ("MLDSA_LANES_DISABLE", disable),
            ]);
            let told = said.value("environment");
            assert!(told.starts_with(&format!("error: {start}")), "{told}");
            assert_eq!(said.value("detected"), plain.fastest());
            assert_eq!(said.available(), plain.available());
        };
        for name in ["avx1024", "Portable", "portable,avx2"] {
            let start = format!("MLDSA_LANES_BACKEND: no backend `{name}` here");
            refused(name, "sha3,avx2", &start);
        }
        // Nothing that a terminal would follow.
        let escaped = r"MLDSA_LANES_BACKEND: no backend `a\nb\u{1b}[2J` here";
        refused("a\nb\u{1b}[2J", "", escaped);
        let feature = "MLDSA_LANES_DISABLE: no feature `avx3`, only avx2, ";
        refused("portable", "avx2,avx3,neon", feature);
        // A backend that the other variable denies.
        for name in plain.available().into_iter().skip(1) {
            let start = format!("MLDSA_LANES_BACKEND: no backend `{name}` here, only portable");
            refused(name, "avx2,neon", &start);
        }
    }
}
