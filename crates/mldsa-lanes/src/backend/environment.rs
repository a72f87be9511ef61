//! The environment's word in the choice of a backend. It can take features away and choose among
//! the backends that were detected, never add one.

use core::fmt;
use std::borrow::ToOwned;
use std::io::Write;
use std::string::String;
use std::vec::Vec;

use super::select::{Backend, Feature, NAMED};

/// Names the backend of new keys.
const BACKEND: &str = "MLDSA_LANES_BACKEND";
/// Names the features to do without.
const DISABLE: &str = "MLDSA_LANES_DISABLE";

/// A word in `MLDSA_LANES_BACKEND` or `MLDSA_LANES_DISABLE` that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError {
    variable: &'static str,
    word: String,
    allowed: Vec<&'static str>,
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

/// What the two variables say.
pub(super) struct Wishes {
    taken: u32,
    named: Option<Backend>,
    errors: Vec<EnvironmentError>,
}

impl Wishes {
    pub(super) fn read() -> Self {
        let of = |name| {
            let value = std::env::var_os(name).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        Self::parse(&of(BACKEND), &of(DISABLE))
    }

    fn parse(backend: &str, disable: &str) -> Self {
        let (mut taken, mut errors) = (0, Vec::new());
        let mut refuse = |variable, word: &str, allowed| {
            errors.push(EnvironmentError {
                variable,
                word: word.to_owned(),
                allowed,
            });
        };
        for word in disable.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match Feature::by_name(word) {
                Some(feature) => taken |= feature.bit(),
                None => refuse(DISABLE, word, Feature::ALL.map(Feature::name).to_vec()),
            }
        }
        let left = || Backend::present().filter(|backend| backend.left(taken));
        let word = backend.trim();
        let named = left().find(|backend| backend.name() == word);
        if named.is_none() && !word.is_empty() {
            refuse(BACKEND, word, left().map(Backend::name).collect());
        }
        Wishes {
            taken,
            named,
            errors,
        }
    }

    pub(super) fn bits(&self) -> u32 {
        self.taken | self.named.map_or(0, |backend| backend.code() << NAMED)
    }

    /// Says on standard error what cannot be followed. A closed standard error is no reason to fail.
    pub(super) fn complain(&self) {
        for error in &self.errors {
            let _ = writeln!(std::io::stderr(), "mldsa-lanes: {error}; ignored");
        }
    }
}

impl Backend {
    /// What the environment says now: the backend that `MLDSA_LANES_BACKEND` names, or `None` if it
    /// names none. For programs that want to stop at a mistyped variable; [`Backend::detect`]
    /// follows the variables by itself, as they are when it or [`Backend::available`] is first
    /// called.
    ///
    /// - `MLDSA_LANES_BACKEND`: the name of one backend that this CPU can run.
    /// - `MLDSA_LANES_DISABLE`: names of [`Feature`]s separated by commas: as
    ///   [`Backend::disable`].
    ///
    /// An empty variable is as good as none. Neither can make a backend run on a CPU that lacks its
    /// instructions. Without the feature `std` nothing is read.
    ///
    /// # Errors
    /// [`EnvironmentError`], for the first word that names no feature, no backend, or a backend
    /// that this CPU lacks or that `MLDSA_LANES_DISABLE` takes away.
    pub fn from_environment() -> Result<Option<Self>, EnvironmentError> {
        let wishes = Wishes::read();
        match wishes.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(wishes.named),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn texts(backend: &str, disable: &str) -> Vec<String> {
        let wishes = Wishes::parse(backend, disable);
        wishes.errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_present_backend_can_be_named_and_nothing_else() {
        for backend in Backend::present() {
            let wishes = Wishes::parse(backend.name(), "");
            assert_eq!(wishes.named, Some(backend));
            assert_eq!(wishes.bits(), backend.code() << NAMED);
            assert!(wishes.errors.is_empty());
        }
        for name in ["avx1024", "Portable", "avx2,portable", "\u{fffd}"] {
            let [text] = &texts(name, "")[..] else {
                panic!("{name}")
            };
            assert!(text.starts_with("MLDSA_LANES_BACKEND: no backend `"));
            assert!(text.contains(name) && text.contains("portable"));
            assert_eq!(Wishes::parse(name, "").bits(), 0);
        }
    }

    #[test]
    fn features_are_taken_away_one_by_one_and_unknown_ones_named() {
        let wishes = Wishes::parse("", " avx2 ,,sha3,");
        assert_eq!(wishes.bits(), Feature::Avx2.bit() | Feature::Sha3.bit());
        assert!(wishes.errors.is_empty());
        let wishes = Wishes::parse("", "avx512,typo,vbmi");
        assert_eq!(wishes.bits(), Feature::Avx512.bit() | Feature::Vbmi.bit());
        assert_eq!(
            texts("", "avx512,typo,vbmi"),
            ["MLDSA_LANES_DISABLE: no feature `typo`, only avx2, avx512, vbmi, neon, sha3"]
        );
    }

    #[test]
    fn a_backend_whose_feature_is_taken_away_cannot_be_named() {
        let all = Feature::ALL.map(Feature::name).join(",");
        for backend in Backend::present().skip(1) {
            let name = backend.name();
            assert_eq!(
                texts(name, &all),
                [std::format!(
                    "MLDSA_LANES_BACKEND: no backend `{name}` here, only portable"
                )]
            );
        }
        assert_eq!(
            Wishes::parse("portable", &all).named,
            Some(Backend::portable())
        );
    }
}
