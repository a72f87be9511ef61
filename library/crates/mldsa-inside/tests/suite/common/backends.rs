use mldsa_lanes::Backend;

/// The backends of this machine. Fails if `MLDSA_EXPECT_BACKENDS` (names separated by commas)
/// names one that is missing, so that no machine skips a backend unnoticed. `MLDSA_ONLY_BACKENDS`
/// leaves the others out, for emulators in which each costs minutes.
pub fn backends() -> Vec<Backend> {
    let found: Vec<Backend> = Backend::available().collect();
    let names: Vec<&str> = found.iter().map(|backend| backend.name()).collect();
    let expected = std::env::var("MLDSA_EXPECT_BACKENDS").unwrap_or_default();
    for name in expected
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        assert!(
            names.contains(&name),
            "backend {name} is expected; this machine has {names:?}"
        );
    }
    assert!(
        names.contains(&"portable"),
        "the portable backend is missing from {names:?}"
    );
    let only = std::env::var("MLDSA_ONLY_BACKENDS").unwrap_or_default();
    let wanted = |backend: &Backend| only.split(',').any(|name| name == backend.name());
    let tested: Vec<Backend> = found
        .into_iter()
        .filter(|b| only.is_empty() || wanted(b))
        .collect();
    assert!(
        !tested.is_empty(),
        "MLDSA_ONLY_BACKENDS={only} leaves none of {names:?}"
    );
    tested
}
