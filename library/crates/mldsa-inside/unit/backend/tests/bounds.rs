//! The assertions of what kernels take.

use std::string::String;

use crate::backend::Engine;
use crate::kernels::packing::Map;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::small::{Offsets, SmallPoly};
use crate::params::{N, Parameters, Q};
use crate::sets::{MlDsa44, MlDsa65};
use crate::tests::checks::{difference_exceeds, make_hint_any, sum_exceeds};

/// One coefficient beyond what a kernel takes, in each of its arguments, ends a debug build.
pub(super) fn bounds_are_asserted<E: Engine>(e: E) {
    type P = MlDsa65;
    let refused = |what: &str, call: &mut dyn FnMut()| {
        let call = std::panic::AssertUnwindSafe(call);
        let said = std::panic::catch_unwind(call).expect_err(what);
        let said = said.downcast_ref::<String>().expect(what);
        assert!(said.starts_with(what), "{what}: {said}");
    };
    let with = |x: i32| {
        let mut p = Poly([0; N]);
        p.0[201] = x;
        p
    };
    let (zero, offsets) = (Poly([0; N]), Offsets::zero());
    let (mut a, mut b) = (zero, zero);
    for sign in [-1, 1] {
        refused("ntt takes p", &mut || e.ntt(&mut with(sign * (2 * Q + 1))));
        refused("inverse_ntt takes p", &mut || {
            e.inverse_ntt(&mut with(sign * Q));
        });
        let large = with(sign * 10 * Q);
        refused("dot takes v", &mut || e.dot(&[zero], &[large], &mut a));
        refused("dot_minus takes v", &mut || {
            e.dot_minus(&[zero], &[large], &zero, &zero, &mut a);
        });
        refused("dot_minus takes c", &mut || {
            e.dot_minus(&[zero], &[zero], &large, &zero, &mut a);
        });
        refused("dot_minus takes t", &mut || {
            e.dot_minus(&[zero], &[zero], &zero, &large, &mut a);
        });
        refused("product takes a", &mut || e.product(&large, &zero, &mut a));
        refused("product takes b", &mut || e.product(&zero, &large, &mut a));
        refused("split takes w", &mut || {
            e.split::<P>(&mut with(sign * Q), &mut b);
        });
        refused("power2round takes t", &mut || {
            e.power2round(&mut with(sign * Q), &mut b);
        });
        for (x, y, of) in [
            (sign * (Q + 1), 0, "add_center takes a"),
            (0, sign * (Q + 1), "add_center takes b"),
        ] {
            refused(of, &mut || e.add_center(&mut with(x), &with(y)));
        }
        refused("center takes a", &mut || {
            _ = e.center(&mut with(sign * (2 * Q + 1)), 1);
        });
        refused("make_hint takes low", &mut || {
            e.make_hint::<P>(&mut with(sign * (2 * P::GAMMA2 + 1)), &zero);
        });
        refused("make_hint_any takes w0", &mut || {
            let w0 = with(sign * (P::GAMMA2 + 1));
            make_hint_any::<P, _>(e, &w0, &zero, &mut a, &zero);
        });
        refused("make_hint_any takes cs2", &mut || {
            let cs2 = with(sign * (P::BETA + 1));
            make_hint_any::<P, _>(e, &zero, &cs2, &mut a, &zero);
        });
        refused("make_hint_any takes ct0", &mut || {
            make_hint_any::<P, _>(e, &zero, &zero, &mut with(sign * (Q - P::GAMMA2)), &zero);
        });
        refused("use_hint takes w", &mut || {
            e.use_hint::<P>(&mut with(sign * Q), &zero);
        });
        refused("SmallPoly::set takes p", &mut || {
            SmallPoly::zero().set(&with(sign * 5), 4);
        });
        let mut beyond = with(sign * (P::GAMMA2 + 1));
        refused("subtract_small takes a", &mut || {
            _ = e.subtract_small::<P>(&offsets, &SmallPoly::zero(), &mut beyond, 1);
        });
        let mut beyond = with(sign * (P::GAMMA1 + 1));
        refused("add_small takes a", &mut || {
            _ = e.add_small::<P>(&offsets, &SmallPoly::zero(), &mut beyond, 1);
        });
        refused("sum_exceeds takes a", &mut || {
            _ = sum_exceeds::<P, _>(e, &beyond, &offsets, &SmallPoly::zero(), 1);
        });
        refused("difference_exceeds takes a", &mut || {
            _ = difference_exceeds::<P, _>(e, &beyond, &offsets, &SmallPoly::zero(), 1);
        });
    }
    refused("exceeds takes a", &mut || {
        _ = e.exceeds(&with(i32::MIN), 1);
    });
    for x in [-1, Q] {
        refused("dot takes row", &mut || e.dot(&[with(x)], &[zero], &mut a));
        refused("dot_minus takes row", &mut || {
            e.dot_minus(&[with(x)], &[zero], &zero, &zero, &mut a);
        });
    }
    for x in [-1, 16] {
        refused("make_hint takes w1", &mut || {
            e.make_hint::<P>(&mut a, &with(x));
        });
        refused("make_hint_any takes w1", &mut || {
            make_hint_any::<P, _>(e, &zero, &zero, &mut a, &with(x));
        });
        refused("pack takes p", &mut || {
            e.pack(4, &with(x), Map::Same, &mut [0; 128]);
        });
    }
    for x in [-1, 2] {
        refused("use_hint takes hint", &mut || {
            e.use_hint::<P>(&mut a, &with(x));
        });
    }
    let mut small = SmallPoly::zero();
    small.set(&with(4), 4);
    refused("add_small takes s", &mut || {
        _ = e.add_small::<MlDsa44>(&offsets, &small, &mut a, 1);
    });
    refused("subtract_small takes s", &mut || {
        _ = e.subtract_small::<MlDsa44>(&offsets, &small, &mut a, 1);
    });
}
