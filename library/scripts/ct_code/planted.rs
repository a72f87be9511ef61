//! Functions that leak on purpose, and some that do not, compiled for each backend's CPU features:
//! library/scripts/ct_code has to find every `leaks_` and no `clean_`. The secret is what is behind the pointer.

#[allow(unused_imports)]
use core::hint::black_box;

#[inline(never)]
fn used(value: usize) {
    black_box(value);
}

#[inline(never)]
fn first_of(values: &[i32; 256]) -> i32 {
    values[0] ^ 1
}

/// What needs no vectors of the backend's own.
macro_rules! planted {
    ($backend:ident, $features:literal, $($vectors:tt)*) => {
        pub mod $backend {
            use super::*;

            #[target_feature(enable = $features)]
            fn leaks_early_end(a: &[i32; 256], bound: i32) -> bool {
                for x in a {
                    if x.abs() >= black_box(bound) {
                        return true;
                    }
                }
                false
            }
            #[target_feature(enable = $features)]
            fn leaks_branch(a: &[i32; 256], at: i32) -> bool {
                if a[at as usize & 255] & 1 == 1 {
                    used(3);
                    used(4);
                } else {
                    used(5);
                }
                true
            }
            #[target_feature(enable = $features)]
            fn leaks_index(a: &[i32; 256], _: i32) -> bool {
                static TABLE: [u8; 256] = [7; 256];
                black_box(&TABLE)[a[3] as usize & 255] == 1
            }
            #[target_feature(enable = $features)]
            fn leaks_division(a: &[i32; 256], by: i32) -> bool {
                black_box(a[7]) / (by | 1) > 9
            }
            #[target_feature(enable = $features)]
            fn leaks_comparison(a: &[i32; 256], from: i32) -> bool {
                let from = from as usize & 127;
                a[from..from + 100] == a[120..220]
            }
            #[target_feature(enable = $features)]
            fn leaks_length(a: &[i32; 256], _: i32) -> bool {
                let mut copy = [0; 256];
                let length = a[0] as usize & 255;
                copy[..length].copy_from_slice(&a[..length]);
                black_box(&copy);
                true
            }
            #[target_feature(enable = $features)]
            fn leaks_table_of_jumps(a: &[i32; 256], _: i32) -> bool {
                match a[5] & 7 {
                    0 => used(11),
                    1 => used(a.len() * 3),
                    2 => panic!("two"),
                    3 => used(a.as_ptr() as usize),
                    4 => used(first_of(a) as usize),
                    5 => used(21),
                    _ => return false,
                }
                true
            }
            #[target_feature(enable = $features)]
            fn leaks_kept_over_a_call(a: &[i32; 256], _: i32) -> bool {
                let kept = [a[0], a[10], a[20], a[30], a[40], a[50], a[60], a[70]];
                used(1);
                for x in kept {
                    if x > 77 {
                        used(2);
                    }
                    used(3);
                }
                true
            }
            #[inline(never)]
            #[target_feature(enable = $features)]
            fn leaks_handed_over(secret: i32) {
                if secret > 5 {
                    used(9);
                }
            }
            #[target_feature(enable = $features)]
            fn clean_hands_over(a: &[i32; 256], _: i32) -> bool {
                leaks_handed_over(a[9]);
                used(4);
                true
            }
            #[target_feature(enable = $features)]
            fn leaks_handed_back(a: &[i32; 256], _: i32) -> bool {
                if first_of(a) > 3 {
                    used(1);
                }
                true
            }
            #[target_feature(enable = $features)]
            fn clean_select(a: &[i32; 256], other: i32) -> bool {
                let mut sum = 0;
                for x in a {
                    let mask = x >> 31;
                    sum ^= (mask & other) | (!mask & x);
                }
                used(2);
                sum == other
            }
            #[target_feature(enable = $features)]
            fn clean_norm(a: &[i32; 256], bound: i32) -> bool {
                a.iter().fold(false, |above, x| above | (x.abs() >= bound))
            }
            #[target_feature(enable = $features)]
            fn clean_pointers(a: &[i32; 256], count: i32) -> bool {
                let rows = black_box([a, a, a]);
                let mut sum = 0;
                for i in 0..count as usize {
                    sum ^= rows[i % 3][i & 255];
                    used(i);
                }
                sum < 0
            }
            $($vectors)*

            #[used]
            static ALL: [unsafe fn(&[i32; 256], i32) -> bool; 14] = [
                leaks_early_end, leaks_branch, leaks_index, leaks_division, leaks_comparison, leaks_length,
                leaks_table_of_jumps, leaks_kept_over_a_call, clean_hands_over, leaks_handed_back,
                clean_select, clean_norm, clean_pointers, leaks_vector_verdict,
            ];
            #[used]
            static MORE: [unsafe fn(&[i32; 256], i32) -> bool; 3] =
                [leaks_vector_index, leaks_vector_advance, clean_vector_lookup];
        }
    };
}

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
macro_rules! avx512 {
    ($backend:ident, $features:literal) => {
        planted! { $backend, $features,
            #[target_feature(enable = $features)]
            fn leaks_vector_verdict(a: &[i32; 256], bound: i32) -> bool {
                for sixteen in a.as_chunks::<16>().0 {
                    // SAFETY: sixteen integers are read.
                    let values = unsafe { _mm512_loadu_si512(sixteen.as_ptr().cast()) };
                    if _mm512_cmpgt_epi32_mask(values, _mm512_set1_epi32(bound)) != 0 {
                        return true;
                    }
                }
                false
            }
            #[target_feature(enable = $features)]
            fn leaks_vector_index(a: &[i32; 256], _: i32) -> bool {
                // SAFETY: indices below 16, in a table of 256.
                let found = unsafe {
                    let at = _mm512_and_si512(_mm512_loadu_si512(a.as_ptr().cast()), _mm512_set1_epi32(15));
                    _mm512_i32gather_epi32::<4>(at, a.as_ptr())
                };
                _mm512_reduce_add_epi32(found) == 4
            }
            #[target_feature(enable = $features)]
            fn leaks_vector_advance(a: &[i32; 256], bound: i32) -> bool {
                let mut out = [0i32; 272];
                let mut at = 0;
                for sixteen in a.as_chunks::<16>().0 {
                    // SAFETY: at is at most 256 minus 16.
                    unsafe {
                        let values = _mm512_loadu_si512(sixteen.as_ptr().cast());
                        let kept = _mm512_cmpgt_epi32_mask(values, _mm512_set1_epi32(bound));
                        _mm512_storeu_si512(out.as_mut_ptr().add(at).cast(), _mm512_maskz_compress_epi32(kept, values));
                        at += kept.count_ones() as usize;
                    }
                }
                black_box(&out);
                true
            }
            #[target_feature(enable = $features)]
            fn clean_vector_lookup(a: &[i32; 256], _: i32) -> bool {
                // SAFETY: sixteen integers are read.
                let values = unsafe { _mm512_loadu_si512(a.as_ptr().cast()) };
                let table = _mm512_set_epi32(1, 5, 3, 4, 5, 6, 17, 8, 9, 10, 11, 12, 13, 14, 15, 16);
                let found = _mm512_permutexvar_epi32(values, table);
                let blended = _mm512_mask_mov_epi32(found, _mm512_cmpgt_epi32_mask(values, found), values);
                _mm512_reduce_add_epi32(blended) == 4
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
avx512!(avx512, "avx512f,avx512bw,avx512dq,avx512vl");

#[cfg(target_arch = "x86_64")]
planted! { avx2, "avx2,bmi1,bmi2,lzcnt,popcnt",
    #[target_feature(enable = "avx2")]
    fn leaks_vector_verdict(a: &[i32; 256], bound: i32) -> bool {
        for eight in a.as_chunks::<8>().0 {
            // SAFETY: eight integers are read.
            let values = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
            if _mm256_movemask_epi8(_mm256_cmpgt_epi32(values, _mm256_set1_epi32(bound))) != 0 {
                return true;
            }
        }
        false
    }
    #[target_feature(enable = "avx2")]
    fn leaks_vector_index(a: &[i32; 256], _: i32) -> bool {
        // SAFETY: indices below 16, in a table of 256.
        let found = unsafe {
            let at = _mm256_and_si256(_mm256_loadu_si256(a.as_ptr().cast()), _mm256_set1_epi32(15));
            _mm256_i32gather_epi32::<4>(a.as_ptr(), at)
        };
        _mm256_extract_epi32::<3>(found) == 4
    }
    #[target_feature(enable = "avx2,popcnt")]
    fn leaks_vector_advance(a: &[i32; 256], bound: i32) -> bool {
        static ORDERS: [[i32; 8]; 256] = [[1; 8]; 256];
        let mut out = [0i32; 264];
        let mut at = 0;
        for eight in a.as_chunks::<8>().0 {
            // SAFETY: at is at most 256 minus 8.
            unsafe {
                let values = _mm256_loadu_si256(eight.as_ptr().cast());
                let kept = _mm256_cmpgt_epi32(values, _mm256_set1_epi32(bound));
                let kept = _mm256_movemask_ps(_mm256_castsi256_ps(kept));
                let order = _mm256_loadu_si256(black_box(&ORDERS)[kept as usize & 255].as_ptr().cast());
                _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), _mm256_permutevar8x32_epi32(values, order));
                at += kept.count_ones() as usize;
            }
        }
        black_box(&out);
        true
    }
    #[target_feature(enable = "avx2")]
    fn clean_vector_lookup(a: &[i32; 256], _: i32) -> bool {
        // SAFETY: eight integers are read.
        let values = unsafe { _mm256_loadu_si256(a.as_ptr().cast()) };
        let table = _mm256_set_epi32(1, 5, 3, 4, 5, 6, 17, 8);
        let found = _mm256_permutevar8x32_epi32(table, values);
        _mm256_extract_epi32::<3>(_mm256_blendv_epi8(found, values, _mm256_cmpgt_epi32(values, found))) == 4
    }
}

#[cfg(target_arch = "aarch64")]
use core::arch::aarch64::*;

#[cfg(target_arch = "aarch64")]
macro_rules! neon {
    ($backend:ident, $features:literal) => {
        planted! { $backend, $features,
            #[target_feature(enable = $features)]
            fn leaks_vector_verdict(a: &[i32; 256], bound: i32) -> bool {
                for four in a.as_chunks::<4>().0 {
                    // SAFETY: four integers are read.
                    let values = unsafe { vld1q_s32(four.as_ptr()) };
                    if vmaxvq_u32(vcgtq_s32(values, vdupq_n_s32(bound))) != 0 {
                        return true;
                    }
                }
                false
            }
            #[target_feature(enable = $features)]
            fn leaks_vector_index(a: &[i32; 256], _: i32) -> bool {
                // SAFETY: four integers are read.
                let at = unsafe { vandq_s32(vld1q_s32(a.as_ptr()), vdupq_n_s32(15)) };
                black_box(a)[vgetq_lane_s32::<2>(at) as usize & 255] == 4
            }
            #[target_feature(enable = $features)]
            fn leaks_vector_advance(a: &[i32; 256], bound: i32) -> bool {
                static ORDERS: [[u8; 16]; 16] = [[1; 16]; 16];
                let mut out = [0i32; 260];
                let mut at = 0;
                for four in a.as_chunks::<4>().0 {
                    // SAFETY: at is at most 256 minus 4.
                    unsafe {
                        let values = vld1q_s32(four.as_ptr());
                        let bits: [u32; 4] = [1, 2, 4, 8];
                        let kept = vaddvq_u32(vandq_u32(vcgtq_s32(values, vdupq_n_s32(bound)), vld1q_u32(bits.as_ptr())));
                        let order = vld1q_u8(black_box(&ORDERS)[kept as usize & 15].as_ptr());
                        vst1q_u8(out.as_mut_ptr().add(at).cast(), vqtbl1q_u8(vreinterpretq_u8_s32(values), order));
                        at += kept.count_ones() as usize;
                    }
                }
                black_box(&out);
                true
            }
            #[target_feature(enable = $features)]
            fn clean_vector_lookup(a: &[i32; 256], _: i32) -> bool {
                // SAFETY: sixteen bytes are read.
                let values = unsafe { vld1q_u8(a.as_ptr().cast()) };
                let found = vqtbl1q_u8(vdupq_n_u8(33), values);
                vaddvq_u8(vbslq_u8(vcgtq_u8(found, values), found, values)) == 4
            }
        }
    };
}
#[cfg(target_arch = "aarch64")]
neon!(neon, "neon");
#[cfg(target_arch = "aarch64")]
neon!(neon_sha3, "neon,sha3");
