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
    /// The most characters of the word in the message.
    const SHOWN: usize = 40;

    fn new(variable: &'static str, word: &str, allowed: Vec<&'static str>) -> Self {
        let mut characters = word.chars();
        let shown = characters.by_ref().take(Self::SHOWN);
        let mut word: String = shown.flat_map(char::escape_default).collect();
        if characters.next().is_some() {
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

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/backend/environment/tests.rs"
    ));
}
