// What the unit tests of all modules share of the kernels.

pub(crate) mod intervals;
mod small_scope;
