use super::*;
use crate::scheme::message::Mu;
use crate::sets::MlDsa44;
use crate::sets::Scheme;

/// A caller's memory is wiped in the end, whether there is a signature or none.
#[test]
fn memory_is_left_empty() {
    let (mut sk, mut pk) = (Zero::ZERO, Zero::ZERO);
    let backend = Backend::detect();
    MlDsa44::keygen(backend, &[7; 32], &mut sk, &mut pk);
    let mut key = Material::<MlDsa44>::ZERO;
    MlDsa44::expand_signing(backend, &sk, &mut key);
    let mut ends = [false; 2];
    for byte in 0..20 {
        let mut memory = Memory::ZERO;
        let mu = Mu::unbound([byte; 64]);
        let input = Input::Mu(&mu);
        let request = Request::new(backend, &input, &[0; 32], 2);
        let result = MlDsa44::sign_in(request, &key, &mut memory);
        ends[usize::from(result.is_ok())] = true;
        assert!(!is_zero(&memory), "nothing was there to wipe");
        memory.wipe();
        assert!(is_zero(&memory));
    }
    assert_eq!(ends, [true; 2]);
}

fn is_zero(memory: &Memory<MlDsa44>) -> bool {
    let Memory {
        signing:
            Signing {
                iteration,
                rho_second,
                mu_w1,
                c_tilde,
                c,
                vec_l,
                vec_k,
                w1,
            },
        shared: Shared { masks, scratch },
    } = memory;
    let polynomials = [
        &vec_l[..],
        &vec_k[..],
        &w1[..],
        &scratch.product[..],
        &scratch.c_hat[..],
    ];
    let bytes = [&rho_second[..], &mu_w1[..], &c_tilde[..]];
    iteration.is_none()
        && masks.is_zero()
        && c.is_zero()
        && polynomials.into_iter().flatten().all(|p| *p == Poly::ZERO)
        && bytes.into_iter().flatten().all(|byte| *byte == 0)
}
