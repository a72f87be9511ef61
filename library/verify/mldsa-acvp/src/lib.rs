//! NIST's ACVP vectors of ML-DSA, for tests: 75 cases of keyGen, 359 of sigGen and 180 of sigVer, as
//! liboqs carries NIST's files. The crate holds no copy of them: they come from a package of the
//! registry (`build.rs`) and are compiled in, so that a test needs no file where it runs.

use serde_json::Value;
use std::sync::LazyLock;

/// One of NIST's files.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    KeyGen,
    SigGen,
    SigVer,
}

macro_rules! file {
    ($mode:literal) => {{
        static FILE: LazyLock<Value> = LazyLock::new(|| {
            let text = include_str!(concat!(
                env!("ACVP_FOLDER"),
                "/ML-DSA-",
                $mode,
                "-FIPS204/internalProjection.json"
            ));
            serde_json::from_str(text).expect(concat!("NIST's file of ", $mode, " is JSON"))
        });
        &FILE
    }};
}

impl Mode {
    fn file(self) -> &'static Value {
        match self {
            Mode::KeyGen => file!("keyGen"),
            Mode::SigGen => file!("sigGen"),
            Mode::SigVer => file!("sigVer"),
        }
    }

    /// Cases of each parameter set.
    fn count(self) -> usize {
        match self {
            Mode::KeyGen => 25,
            Mode::SigGen => 120,
            Mode::SigVer => 60,
        }
    }

    /// All cases of a parameter set but [`wrong`]. Panics if one is missing.
    pub fn cases(self, set: &str) -> Vec<Case> {
        let mut cases = self.all(set);
        cases.retain(|case| !matches!(self, Mode::SigGen) || case.number() != WRONG);
        cases
    }

    fn all(self, set: &str) -> Vec<Case> {
        let groups = self.file()["testGroups"]
            .as_array()
            .expect("a list of groups");
        let of_set = groups.iter().filter(|group| group["parameterSet"] == set);
        let cases: Vec<Case> = of_set
            .flat_map(|group| {
                let tests = group["tests"].as_array().expect("a list of tests");
                tests.iter().map(move |test| Case { group, test })
            })
            .collect();
        assert_eq!(cases.len(), self.count(), "{self:?} cases for {set}");
        cases
    }
}

/// Number of a sigGen case of ML-DSA-44.
const WRONG: u64 = 16;

/// The one case that is wrong: its signature is none of its message, whichever of the twelve hashes is
/// taken, as a test of mldsa-oracle shows.
pub fn wrong() -> Case {
    let cases = Mode::SigGen.all("ML-DSA-44").into_iter();
    let mut wrong = cases.filter(|case| case.number() == WRONG);
    wrong.next().expect("NIST numbers the cases")
}

/// One case.
#[derive(Clone, Copy)]
pub struct Case {
    group: &'static Value,
    test: &'static Value,
}

/// What is signed.
#[derive(Debug)]
pub enum Input {
    /// μ, the external interface's as the caller computes it.
    Mu([u8; 64]),
    /// M′, of the internal interface.
    Formatted(Vec<u8>),
    Pure {
        message: Vec<u8>,
        context: Vec<u8>,
    },
    /// `hash` by NIST's name.
    PreHash {
        hash: &'static str,
        message: Vec<u8>,
        context: Vec<u8>,
    },
}

impl Case {
    /// The case's name in messages.
    pub fn id(&self) -> String {
        format!("ACVP group {} case {}", self.group["tgId"], self.number())
    }

    fn number(&self) -> u64 {
        self.test["tcId"].as_u64().expect("a number")
    }

    fn field(&self, name: &str) -> &'static Value {
        self.test.get(name).unwrap_or(&self.group[name])
    }

    fn text(&self, name: &str) -> &'static str {
        let text = self.field(name).as_str();
        text.unwrap_or_else(|| panic!("{} has no {name}", self.id()))
    }

    fn flag(&self, name: &str) -> bool {
        let flag = self.field(name).as_bool();
        flag.unwrap_or_else(|| panic!("{} does not say {name}", self.id()))
    }

    /// A field in hexadecimal.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        unhex(self.text(name))
    }

    /// The same, of a known length.
    pub fn array<const L: usize>(&self, name: &str) -> [u8; L] {
        let bytes = self.bytes(name).try_into();
        bytes.unwrap_or_else(|_| panic!("{}: {name} has not {L} bytes", self.id()))
    }

    /// The verdict of a sigVer case.
    pub fn passes(&self) -> bool {
        self.flag("testPassed")
    }

    /// rnd of a sigGen case.
    pub fn rnd(&self) -> [u8; 32] {
        if self.flag("deterministic") {
            [0; 32]
        } else {
            self.array("rnd")
        }
    }

    /// What a sigGen or sigVer case signs.
    pub fn input(&self) -> Input {
        if self.flag("externalMu") {
            return Input::Mu(self.array("mu"));
        }
        let message = self.bytes("message");
        match (self.text("signatureInterface"), self.text("preHash")) {
            ("internal", "none") => Input::Formatted(message),
            ("external", "pure") => Input::Pure {
                message,
                context: self.bytes("context"),
            },
            ("external", "preHash") => Input::PreHash {
                hash: self.text("hashAlg"),
                message,
                context: self.bytes("context"),
            },
            other => panic!("{}: interface {other:?}", self.id()),
        }
    }
}

/// Bytes of a hexadecimal string of either case.
pub fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes: Option<Vec<u8>> = digits.map(byte).collect();
    bytes.unwrap_or_else(|| panic!("{text:?} is not hexadecimal"))
}
