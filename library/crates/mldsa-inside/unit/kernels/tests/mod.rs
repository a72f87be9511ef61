// What the unit tests of all modules share of the kernels.

mod forms;
pub(crate) mod intervals;
