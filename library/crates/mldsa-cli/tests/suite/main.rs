//! The command as a user runs it.

mod collisions;
mod documents;
mod interop;
mod keys;
mod passwords;
mod pem;
mod sandbox;
mod signatures;
mod streams;
