use super::*;
use crate::kernels::keccak::permute_one;

#[test]
fn one_state_in_each_form() {
    let Some(token) = Avx512::detect() else {
        return;
    };
    for permutation in token.permutations() {
        let mut state: [u64; 25] =
            core::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut expected = state;
        for _ in 0..3 {
            permutation(&mut state);
            permute_one(&mut expected);
            assert_eq!(state, expected);
        }
    }
}
