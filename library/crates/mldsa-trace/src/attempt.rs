// Rejection traces: what happened in each attempt of a signature.

/// A check of FIPS 204, Algorithm 7, in the order of steps 23 and 28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// ‖z‖∞ < γ1 − β.
    Z = 0,
    /// ‖r0‖∞ < γ2 − β.
    R0 = 1,
    /// ‖c·t0‖∞ < γ2.
    Ct0 = 2,
    /// At most ω hints.
    Hint = 3,
}

/// Which checks a trace carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Those of Algorithm 7 in its order: z and r0 in every attempt, c·t0 and the hints only where
    /// both hold.
    Reached,
    /// All four in every attempt.
    All,
}

/// One attempt. With [`Checks::All`] every check is carried out on every attempt, those too that a
/// signer would not have reached; a check left out counts as one that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// κ of the attempt: l times its number.
    pub kappa: u16,
    /// Bitmap of the failing checks: 1 z, 2 r0, 4 c·t0, 8 hints. Zero is the accepted attempt.
    pub failed: u8,
    /// For z, r0, c·t0 and hints: the index of the first polynomial that fails, for the hints
    /// the one at which their number passes ω; 255 where the check holds.
    pub first_failing: [u8; 4],
}

impl Attempt {
    pub(crate) fn new(kappa: u16) -> Self {
        Attempt {
            kappa,
            failed: 0,
            first_failing: [u8::MAX; 4],
        }
    }

    pub(crate) fn fail(&mut self, check: Check, polynomial: usize) {
        let bit = 1 << check as u8;
        if self.failed & bit == 0 {
            self.failed |= bit;
            self.first_failing[check as usize] = polynomial as u8;
        }
    }

    /// Whether all checks hold.
    pub fn accepted(&self) -> bool {
        self.failed == 0
    }

    /// Whether `check` fails.
    pub fn fails(&self, check: Check) -> bool {
        self.failed & 1 << check as u8 != 0
    }
}
