use super::*;
use std::format;
use std::string::ToString;

fn refusal(backend: &str, disable: &str) -> String {
    parse(backend, disable).unwrap_err().to_string()
}

#[test]
fn every_available_backend_can_be_named_and_nothing_else() {
    for backend in Backend::available() {
        assert_eq!(parse(backend.name(), ""), Ok((0, Some(backend))));
    }
    for name in ["avx1024", "Portable", "avx2,portable"] {
        let text = refusal(name, "");
        let start = format!("MLDSA_LANES_BACKEND: no backend `{name}` here, only portable");
        assert!(text.starts_with(&start), "{text}");
    }
}

#[test]
fn features_are_taken_away_one_by_one_and_one_unknown_refuses_all() {
    let features = Feature::Avx2.bit() | Feature::Sha3.bit();
    assert_eq!(parse("", " avx2 ,,sha3,"), Ok((features, None)));
    assert_eq!(
        refusal("portable", "avx512,typo,sha3"),
        "MLDSA_LANES_DISABLE: no feature `typo`, only avx2, avx512, neon, sha3"
    );
}

#[test]
fn a_backend_whose_feature_is_taken_away_cannot_be_named() {
    let all = Feature::ALL.map(Feature::name).join(",");
    for backend in Backend::available().skip(1) {
        let name = backend.name();
        assert_eq!(
            refusal(name, &all),
            format!("MLDSA_LANES_BACKEND: no backend `{name}` here, only portable")
        );
    }
    let named = parse("portable", &all).map(|(_, named)| named);
    assert_eq!(named, Ok(Some(Backend::portable())));
}

#[test]
fn a_word_is_told_escaped_and_in_part() {
    let text = refusal("", "a\n\u{1b}[2J\u{202e}\u{fffd}");
    let word = r"a\n\u{1b}[2J\u{202e}\u{fffd}";
    assert!(text.contains(&format!("`{word}`,")), "{text}");
    let (just, over) = ("x".repeat(40), "x".repeat(41));
    assert!(refusal(&just, "").contains(&format!("`{just}` here")));
    assert!(refusal(&over, "").contains(&format!("`{just}...` here")));
    // Ten bytes a character are the most that escaping makes of one.
    assert!(refusal(&"\u{10ffff}".repeat(100_000), "").len() < 600);
}
