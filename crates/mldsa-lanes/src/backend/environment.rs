//! The environment's word in the choice of a backend, where the program asks for it. It can take
//! features away and choose among the backends that were detected, never add one.

use core::fmt;
use std::string::String;
use std::vec::Vec;

use super::select::{Backend, Feature};

/// Names the backend of new keys.
const BACKEND: &str = "MLDSA_LANES_BACKEND";
/// Names the features to do without.
const DISABLE: &str = "MLDSA_LANES_DISABLE";

/// A word in `MLDSA_LANES_BACKEND` or `MLDSA_LANES_DISABLE` that cannot be followed. Its text is one
/// short line of ASCII, whatever the variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError {
    variable: &'static str,
    word: String,
    allowed: Vec<&'static str>,
}

impl EnvironmentError {
    /// As many characters of the word are told.
    const SHOWN: usize = 40;

    fn new(variable: &'static str, word: &str, allowed: Vec<&'static str>) -> Self {
        let mut told = word.chars();
        let shown = told.by_ref().take(Self::SHOWN);
        let mut word: String = shown.flat_map(char::escape_default).collect();
        if told.next().is_some() {
            word.push_str("...");
        }
        EnvironmentError {
            variable,
            word,
            allowed,
        }
    }
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variable, word) = (self.variable, &self.word);
        let allowed = self.allowed.join(", ");
        if variable == BACKEND {
            write!(f, "{variable}: no backend `{word}` here, only {allowed}")
        } else {
            write!(f, "{variable}: no feature `{word}`, only {allowed}")
        }
    }
}

impl std::error::Error for EnvironmentError {}

/// The features to take away, as bits, and the backend to choose.
fn parse(backend: &str, disable: &str) -> Result<(u32, Option<Backend>), EnvironmentError> {
    let mut features = 0;
    for word in disable.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let Some(feature) = Feature::by_name(word) else {
            let allowed = Feature::ALL.map(Feature::name).to_vec();
            return Err(EnvironmentError::new(DISABLE, word, allowed));
        };
        features |= feature.bit();
    }
    let word = backend.trim();
    let left = || Backend::available_without(features);
    let named = left().find(|backend| backend.name() == word);
    if named.is_none() && !word.is_empty() {
        let allowed = left().map(Backend::name).collect();
        return Err(EnvironmentError::new(BACKEND, word, allowed));
    }
    Ok((features, named))
}

impl Backend {
    /// Lets the environment choose, from now on and in the whole process, and returns the backend
    /// that it names, if it names one. The library never reads the environment by itself: this is for
    /// programs whose users may choose, best called before the first key is made.
    ///
    /// - `MLDSA_LANES_BACKEND`: the name of the backend that [`Backend::detect`] is to return, one
    ///   that this CPU can run.
    /// - `MLDSA_LANES_DISABLE`: names of [`Feature`]s separated by commas, each as if given to
    ///   [`Backend::disable_for_process`].
    ///
    /// An empty variable is as good as none.
    ///
    /// ```
    /// if let Err(error) = mldsa_lanes::Backend::use_environment() {
    ///     eprintln!("{error}");
    ///     std::process::exit(2);
    /// }
    /// ```
    ///
    /// # Errors
    /// [`EnvironmentError`], for the first word that names no feature, no backend, or a backend
    /// that this CPU lacks or that was taken away. Then nothing of either variable is followed.
    pub fn use_environment() -> Result<Option<Self>, EnvironmentError> {
        let [backend, disable] = [BACKEND, DISABLE].map(std::env::var_os);
        let (features, named) = parse(
            &backend.unwrap_or_default().to_string_lossy(),
            &disable.unwrap_or_default().to_string_lossy(),
        )?;
        Self::follow(features, named);
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
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
}
