//! The oracle's tests, in one program.

mod acvp;
mod transcription;
mod wycheproof;
