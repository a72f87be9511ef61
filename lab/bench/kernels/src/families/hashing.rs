//! Keccak-f\[1600\] and SHAKE, one state and several.

use keccak::Keccak;
use mldsa_lanes::Backend;
use mldsa_lanes::internals::{self as lanes, Group};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

#[cfg(target_arch = "x86_64")]
use crate::case::Filled;
use crate::case::{Case, Kernels, case, restored};
use crate::data::{bytes, state, words};
#[cfg(target_arch = "x86_64")]
use crate::peers::{Avx2, SLACK, States, aws_lc, mldsa_native, pqclean};

/// States or strings of a call: whole groups on every backend.
const COUNT: usize = 8;
/// Five blocks of SHAKE128, the usual share of a polynomial of Â.
const FIVE_BLOCKS: usize = 5 * 168;
type Strings = Vec<[u8; FIVE_BLOCKS]>;
/// What `tr` of ML-DSA-65 hashes.
const KEY_BYTES: usize = 1952;

pub fn collect(kernels: &mut Kernels) {
    kernels.kernel("keccak", "state", |k| {
        let start = state(400);
        let output = |state: &[u64; 25]| words(&[*state]);
        k.ours(1, |backend| {
            case(start, move |state| lanes::keccak(backend, state), output)
        });
        let rustcrypto = Keccak::new();
        let call = move |state: &mut [u64; 25]| rustcrypto.with_f1600(|f1600| f1600(state));
        k.peer("rustcrypto", 1, case(start, call, output));
        #[cfg(target_arch = "x86_64")]
        k.peer("aws-lc", 1, case(start, aws_lc::keccak, output));
    });
    kernels.kernel("keccak-group", "state", |k| {
        k.ours(COUNT as u32, |backend| permuting(backend, false));
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            keccak_4(k, "mldsa-native", false, move |s| {
                mldsa_native::keccak_4(avx2, s)
            });
            keccak_4(k, "aws-lc", false, move |s| aws_lc::keccak_4(avx2, s));
            keccak_4(k, "pqclean", true, move |s| pqclean::keccak_4(avx2, s));
        }
    });
    kernels.kernel("keccak-beside", "state", |k| {
        let states = |backend| COUNT + COUNT / lanes::group(backend).count();
        k.ours_by(
            |backend| states(backend) as u32,
            |backend| permuting(backend, true),
        );
    });
    shake128(kernels);
    kernels.kernel("shake256", "key", |k| {
        type State = ([u8; KEY_BYTES], [u8; 64]);
        let start: State = (bytes(410), [0; 64]);
        let output = |(_, digest): &State| digest.to_vec();
        k.ours(1, |backend| {
            let call = move |(key, digest): &mut State| *digest = lanes::shake256(backend, key);
            case(start, call, output)
        });
        let call = |(key, digest): &mut State| {
            let mut hash = Shake256::default();
            hash.update(key);
            hash.finalize_xof().read(digest);
        };
        k.peer("rustcrypto", 1, case(start, call, output));
        let call = |(key, digest): &mut State| libcrux_sha3::portable::shake256(digest, key);
        k.peer("libcrux", 1, case(start, call, output));
    });
}

/// Groups that fill `COUNT` states; with `beside`, a state of its own beside each group.
struct Permuting {
    groups: Vec<Box<dyn Group>>,
    ones: Vec<[u64; 25]>,
}

/// Output: the states, and the states beside as if there were `COUNT`, so that every group size
/// gives the same.
fn permuting(backend: Backend, beside: bool) -> Box<dyn Case> {
    let size = lanes::group(backend).count();
    let groups: Vec<_> = (0..COUNT / size).map(|_| lanes::group(backend)).collect();
    let ones = vec![[0; 25]; if beside { groups.len() } else { 0 }];
    restored(
        Permuting { groups, ones },
        move |all| {
            for (i, group) in all.groups.iter_mut().enumerate() {
                for lane in 0..size {
                    group.set(lane, &state(500 + (i * size + lane) as u64));
                }
            }
            for (i, one) in all.ones.iter_mut().enumerate() {
                *one = state(600 + i as u64);
            }
        },
        move |all| {
            if beside {
                for (group, one) in all.groups.iter_mut().zip(&mut all.ones) {
                    group.permute_beside(one);
                }
            } else {
                for group in &mut all.groups {
                    group.permute();
                }
            }
        },
        move |all| {
            let grouped = all
                .groups
                .iter()
                .flat_map(|g| (0..size).map(|lane| g.get(lane)));
            let mut states: Vec<_> = grouped.collect();
            if beside {
                states.extend(&all.ones);
                for i in all.ones.len()..COUNT {
                    let mut one = state(600 + i as u64);
                    lanes::keccak(Backend::portable(), &mut one);
                    states.push(one);
                }
            }
            words(&states)
        },
    )
}

/// A peer that permutes four states, word by word `interleaved` or one after the other.
#[cfg(target_arch = "x86_64")]
fn keccak_4(
    k: &mut Filled,
    name: &'static str,
    interleaved: bool,
    call: impl Fn(&mut States) + 'static,
) {
    let place = move |word: usize, lane: usize| {
        if interleaved {
            4 * word + lane
        } else {
            25 * lane + word
        }
    };
    let start: [States; COUNT / 4] = core::array::from_fn(|group| {
        let mut states = States([0; 100]);
        for lane in 0..4 {
            let one = state(500 + (4 * group + lane) as u64);
            for (word, value) in one.iter().enumerate() {
                states.0[place(word, lane)] = *value;
            }
        }
        states
    });
    let output = move |groups: &[States; COUNT / 4]| {
        let lanes = groups.iter().flat_map(|group| {
            (0..4).map(move |lane| core::array::from_fn(|word| group.0[place(word, lane)]))
        });
        words(&lanes.collect::<Vec<_>>())
    };
    let call = move |groups: &mut [States; COUNT / 4]| groups.iter_mut().for_each(&call);
    k.peer(name, COUNT as u32, case(start, call, output));
}

const NONCES: [u16; COUNT] = [0, 1, 2, 3, 256, 257, 258, 259];

/// Five blocks of SHAKE128(seed ‖ nonce): what `uniform` hashes.
fn shake128(kernels: &mut Kernels) {
    kernels.kernel("shake128", "string", |k| {
        let seed = bytes::<32>(300);
        let none: Strings = vec![[0; FIVE_BLOCKS]; COUNT];
        let output = |out: &Strings| out.concat();
        k.ours(COUNT as u32, |backend| {
            let size = lanes::group(backend).count();
            let start = none.clone();
            restored(
                (lanes::group(backend), start),
                |_| {},
                move |(group, out)| {
                    for (out, nonces) in out.chunks_mut(size).zip(NONCES.chunks(size)) {
                        group.shake128(&seed, nonces, out);
                    }
                },
                move |(_, out)| output(out),
            )
        });
        let inputs: [[u8; 34]; COUNT] = NONCES.map(|nonce| {
            let mut input = [0; 34];
            input[..32].copy_from_slice(&seed);
            input[32..].copy_from_slice(&nonce.to_le_bytes());
            input
        });
        let call = move |out: &mut Strings| {
            for (out, input) in out.iter_mut().zip(&inputs) {
                libcrux_sha3::portable::shake128(out, input);
            }
        };
        k.peer(
            "libcrux portable",
            COUNT as u32,
            case(none.clone(), call, output),
        );
        #[cfg(target_arch = "x86_64")]
        shake128_4(k, &inputs, none);
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        {
            let call = move |out: &mut Strings| {
                use libcrux_sha3::neon::x2::incremental as x2;
                for (out, [a, b]) in out.as_chunks_mut().0.iter_mut().zip(inputs.as_chunks().0) {
                    let [y, z] = out;
                    let mut state = x2::init();
                    x2::shake128_absorb_final(&mut state, a, b);
                    x2::shake128_squeeze_first_five_blocks(&mut state, y, z);
                }
            };
            k.peer("libcrux", COUNT as u32, case(none, call, output));
        }
    });
}

#[cfg(target_arch = "x86_64")]
fn shake128_4(k: &mut Filled, inputs: &[[u8; 34]; COUNT], none: Strings) {
    let Some(avx2) = Avx2::detect() else { return };
    type Four = [[u8; FIVE_BLOCKS]; 4];
    // Each input with the room that PQClean reads in.
    let mut roomy = [[[0u8; 64 + SLACK]; 4]; COUNT / 4];
    for (roomy, input) in roomy.as_flattened_mut().iter_mut().zip(inputs) {
        roomy[..34].copy_from_slice(input);
    }
    let output = |out: &Strings| out.concat();
    let mut add = |name, squeeze: fn(Avx2, &[[u8; 64 + SLACK]; 4], &mut Four)| {
        let call = move |out: &mut Strings| {
            for (out, input) in out.as_chunks_mut().0.iter_mut().zip(&roomy) {
                squeeze(avx2, input, out);
            }
        };
        k.peer(name, COUNT as u32, case(none.clone(), call, output));
    };
    add("aws-lc", |_, input, out| aws_lc::shake128_4(input, 34, out));
    add("pqclean", |avx2, input, out| {
        pqclean::shake128_4(avx2, input, 34, out)
    });
    add("libcrux", |_, [a, b, c, d], [w, x, y, z]| {
        use libcrux_sha3::avx2::x4::incremental as x4;
        let mut state = x4::init();
        x4::shake128_absorb_final(&mut state, &a[..34], &b[..34], &c[..34], &d[..34]);
        x4::shake128_squeeze_first_five_blocks(&mut state, w, x, y, z);
    });
}
