use super::*;
use crate::kernels::keccak::permute_one;

/// What Apple's cores run, on any CPU with the extension.
#[test]
fn two_and_two_states_in_vector_registers() {
    let Some(token) = NeonSha3::detect() else {
        return;
    };
    let mut words = 0u64..;
    let mut word = || words.next().unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut states = States::<4>(core::array::from_fn(|_| core::array::from_fn(|_| word())));
    let mut each: [[u64; 25]; 4] =
        core::array::from_fn(|j| core::array::from_fn(|i| states.0[i][j]));
    two_and_two(token, &mut states);
    each.iter_mut().for_each(permute_one);
    for (j, state) in each.iter().enumerate() {
        assert_eq!(*state, states.0.map(|row| row[j]), "state {j}");
    }
}
