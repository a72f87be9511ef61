use super::*;
use crate::params::MlDsa44;
use crate::scheme::entry::Scheme;
use crate::scheme::message::Mu;

/// A caller's space is wiped in the end, whether there is a signature or none.
#[test]
fn a_space_is_left_empty() {
    let (mut sk, mut pk) = (Zero::ZERO, Zero::ZERO);
    let backend = Backend::detect();
    MlDsa44::keygen(backend, &[7; 32], &mut sk, &mut pk);
    let mut key = Material::<MlDsa44>::ZERO;
    MlDsa44::expand_signing(backend, &sk, &mut key);
    let mut ends = [false; 2];
    for byte in 0..20 {
        let mut space = Space::ZERO;
        let mu = Mu::unbound([byte; 64]);
        let input = Input::Mu(&mu);
        let order = Order::new(backend, &input, &[0; 32], 2);
        let result = MlDsa44::sign_in(order, &key, &mut space);
        ends[usize::from(result.is_ok())] = true;
        assert!(!is_zero(&space), "nothing was there to wipe");
        space.wipe();
        assert!(is_zero(&space));
    }
    assert_eq!(ends, [true; 2]);
}

fn is_zero(space: &Space<MlDsa44>) -> bool {
    let Trial {
        z,
        low,
        w1,
        c_tilde,
        c_offsets,
        hashed,
    } = &space.making.trial;
    let polynomials = [&z[..], &low[..], &w1[..], &space.shared.scratch.c[..]];
    let polynomials = polynomials
        .into_iter()
        .chain([&space.shared.scratch.product[..]]);
    polynomials.flatten().all(|p| *p == Poly::ZERO)
        && space.shared.masks.is_zero()
        && c_offsets.is_zero()
        && [
            &space.making.rho_second[..],
            &space.making.mu[..],
            &c_tilde[..],
            &hashed[..],
        ]
        .concat()
        .iter()
        .all(|byte| *byte == 0)
}
