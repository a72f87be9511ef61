//! The C functions against the library's single calls, and every error.

use std::collections::HashSet;
use std::ffi::CStr;
use std::process::Command;
use std::ptr::{null, null_mut};

use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_trace::{
    Attempt, Failure, SignTraced, mldsa_trace_abi, mldsa_trace_backend, mldsa_trace_error_string,
    mldsa_trace_run, mldsa_trace_sign,
};

/// Jobs as a caller of C functions has them.
#[derive(Clone)]
struct Jobs {
    xi: Vec<u8>,
    key_of: Vec<u32>,
    data: Vec<u8>,
    ends: Vec<u64>,
    rnd: Option<Vec<u8>>,
}

/// Deterministic, of no quality.
fn byte(i: usize) -> u8 {
    (i.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

impl Jobs {
    /// Messages of 0 to 600 bytes and contexts of 0 to 255.
    fn new(keys: usize, key_of: Vec<u32>, with_rnd: bool) -> Self {
        // Before the first call: `on_every_backend` names one.
        Backend::use_environment().unwrap();
        let mut ends = Vec::new();
        let mut end = 0;
        for job in 0..key_of.len() {
            end += (job * job * 7 % 601) as u64;
            ends.push(end);
            end += [0, 1, 17, 255][job % 4];
            ends.push(end);
        }
        let rnd = with_rnd.then(|| (0..32 * key_of.len()).map(|i| byte(i + 5)).collect());
        Jobs {
            xi: (0..32 * keys).map(byte).collect(),
            key_of,
            data: (0..end as usize).map(|i| byte(i + 9)).collect(),
            ends,
            rnd,
        }
    }

    fn count(&self) -> usize {
        self.key_of.len()
    }

    fn rnd(&self) -> *const u8 {
        self.rnd.as_ref().map_or(null(), |rnd| rnd.as_ptr())
    }

    /// Message, context and rnd of a job.
    fn parts(&self, job: usize) -> (&[u8], &[u8], [u8; 32]) {
        let end = |i: usize| self.ends[i] as usize;
        let start = if job == 0 { 0 } else { end(2 * job - 1) };
        let rnd = match &self.rnd {
            Some(rnd) => rnd[32 * job..][..32].try_into().unwrap(),
            None => [0; 32],
        };
        let message = &self.data[start..end(2 * job)];
        (message, &self.data[end(2 * job)..end(2 * job + 1)], rnd)
    }

    /// The keys as `skEncode` writes them.
    fn private<P: ParameterSet>(&self) -> Vec<u8> {
        let encoded = |xi: &[u8; 32]| {
            SigningKey::<P>::from_seed(xi)
                .encoded_bytes()
                .as_ref()
                .to_vec()
        };
        self.xi
            .as_chunks::<32>()
            .0
            .iter()
            .flat_map(encoded)
            .collect()
    }

    /// The status, the codes, where each job's end, and how many were needed.
    fn run(&self, set: u32, all: u32, room: usize) -> (i32, Vec<u16>, Vec<u64>, usize) {
        self.run_with(set, all, 0, self.xi.len() / 32, &self.xi, room)
    }

    /// The same with `keys` keys in a form.
    fn run_with(
        &self,
        set: u32,
        all: u32,
        form: u32,
        keys: usize,
        key: &[u8],
        room: usize,
    ) -> (i32, Vec<u16>, Vec<u64>, usize) {
        let mut codes = vec![0x5555; room];
        let mut code_ends = vec![0; self.count()];
        let mut needed = 0;
        // SAFETY: the buffers are as long as the header asks, and nothing else uses them.
        let status = unsafe {
            mldsa_trace_run(
                set,
                all,
                form,
                keys,
                key.as_ptr(),
                self.count(),
                self.key_of.as_ptr(),
                self.data.as_ptr(),
                self.ends.as_ptr(),
                self.rnd(),
                room,
                codes.as_mut_ptr(),
                code_ends.as_mut_ptr(),
                &mut needed,
            )
        };
        (status, codes, code_ends, needed)
    }

    fn traces(&self, set: u32, all: u32) -> Vec<Vec<u16>> {
        let room = 100 + 20 * self.count();
        let (status, codes, code_ends, needed) = self.run(set, all, room);
        assert_eq!(status, 0);
        assert_eq!(needed, code_ends.last().map_or(0, |end| *end as usize));
        assert!(codes[needed..].iter().all(|code| *code == 0x5555));
        let mut start = 0;
        code_ends
            .iter()
            .map(|end| {
                let codes = &codes[start..*end as usize];
                start = *end as usize;
                codes.to_vec()
            })
            .collect()
    }

    /// What the single call says of the jobs whose numbers are multiples of `every`.
    fn expected<P: ParameterSet>(&self, all: u32, every: usize) -> Vec<Vec<u16>> {
        let seeds = self.xi.as_chunks::<32>().0;
        let one = |job| {
            let key = SigningKey::<P>::from_seed(&seeds[self.key_of[job] as usize]);
            let (message, context, rnd) = self.parts(job);
            let context = mldsa_lanes::Context::new(context).unwrap();
            let input = mldsa_lanes::Input::Pure { message, context };
            let mut codes = Vec::new();
            key.sign_traced(&input, &rnd, |attempt| codes.push(code(&attempt, all)))
                .unwrap();
            codes
        };
        (0..self.count()).step_by(every).map(one).collect()
    }
}

fn code(attempt: &Attempt, all: u32) -> u16 {
    let mut first = attempt.first_failing;
    if all == 0 && (first[0] != 255 || first[1] != 255) {
        first[2] = 255;
        first[3] = 255;
    }
    let half = |i: usize| u16::from(first[i].min(15)) << (4 * i);
    half(0) | half(1) | half(2) | half(3)
}

fn number<P: ParameterSet>() -> u32 {
    P::NAME.trim_start_matches("ML-DSA-").parse().unwrap()
}

fn traces_equal_single_calls<P: ParameterSet>() {
    let patterns: [(usize, Vec<u32>, bool); 6] = [
        (0, vec![], false),
        (1, vec![0], true),
        (3, vec![0, 0, 0, 2, 2, 1, 2, 2, 0, 1, 1], true),
        // A key for each job; keys without jobs; one key.
        (40, (0..40).collect(), false),
        (300, vec![299, 3, 3, 299, 0], false),
        (1, vec![0; 60], false),
    ];
    for (keys, key_of, with_rnd) in patterns {
        let jobs = Jobs::new(keys, key_of, with_rnd);
        for all in [0, 1] {
            assert_eq!(
                jobs.traces(number::<P>(), all),
                jobs.expected::<P>(all, 1),
                "{} {all}, {} jobs, {keys} keys",
                P::NAME,
                jobs.count()
            );
        }
    }
}

#[test]
fn traces_of_every_set() {
    traces_equal_single_calls::<MlDsa44>();
    traces_equal_single_calls::<MlDsa65>();
    traces_equal_single_calls::<MlDsa87>();
}

/// More jobs, and more keys, than a chunk has.
#[test]
fn traces_of_many_chunks() {
    const EVERY: usize = 19;
    let sample = |jobs: &Jobs| -> Vec<_> {
        let traces = jobs.traces(44, 0);
        traces.into_iter().step_by(EVERY).collect()
    };
    let in_runs = Jobs::new(710, (0..2600).map(|job| job * 3 / 11).collect(), false);
    assert_eq!(sample(&in_runs), in_runs.expected::<MlDsa44>(0, EVERY));
    // Every key again and again, more of them than a chunk has.
    let in_turn = Jobs::new(710, (0..1500).map(|job| job * 31 % 710).collect(), true);
    assert_eq!(sample(&in_turn), in_turn.expected::<MlDsa44>(0, EVERY));
    // One key over several chunks.
    let one = Jobs::new(1, vec![0; 2100], false);
    assert_eq!(sample(&one), one.expected::<MlDsa44>(0, EVERY));
}

/// The results, and the name, on each backend of this CPU: a process has one choice.
#[test]
fn on_every_backend() {
    if std::env::var_os("MLDSA_LANES_BACKEND").is_some() {
        return;
    }
    std::thread::scope(|scope| {
        for backend in Backend::available() {
            scope.spawn(move || {
                let mut tests = Command::new(std::env::current_exe().unwrap());
                tests.args(["--test-threads", "1", "_of_"]);
                let out = tests.env("MLDSA_LANES_BACKEND", backend.name()).output();
                let out = out.unwrap();
                let text = String::from_utf8_lossy(&out.stdout);
                assert!(out.status.success(), "{}: {text}", backend.name());
                assert!(text.contains("5 passed"), "{text}");
            });
        }
    });
}

#[test]
fn name_of_the_backend_and_version() {
    Backend::use_environment().unwrap();
    assert_eq!(mldsa_trace_abi(), 3);
    // SAFETY: the header promises a static string that ends with NUL.
    let name = unsafe { CStr::from_ptr(mldsa_trace_backend()) };
    assert_eq!(name.to_str(), Ok(Backend::detect().name()));
    if let Ok(wanted) = std::env::var("MLDSA_LANES_BACKEND") {
        assert_eq!(name.to_str(), Ok(wanted.as_str()));
    }
}

fn signatures_equal_single_calls<P: ParameterSet>() {
    for count in [0, 1, 5, 130] {
        let jobs = Jobs::new(count, (0..count as u32).collect(), count != 5);
        let private = jobs.private::<P>();
        // Each output wanted and not; keys in both forms.
        for (wanted, form) in [(7, 0), (0, 0), (1, 0), (2, 0), (4, 0), (7, 1), (1, 1)] {
            let key = [&jobs.xi, &private][form as usize];
            let sizes = [
                P::VERIFYING_KEY_BYTES,
                P::SIGNING_KEY_BYTES,
                P::SIGNATURE_BYTES,
            ];
            let mut out = sizes.map(|size| vec![0xee_u8; size * count]);
            let [pk, sk, signature] = out.each_mut().map(Vec::as_mut_ptr);
            let or_null = |i: u32, to| if wanted >> i & 1 == 1 { to } else { null_mut() };
            // SAFETY: the buffers are as long as the header asks, and nothing else uses them.
            let status = unsafe {
                mldsa_trace_sign(
                    number::<P>(),
                    form,
                    count,
                    key.as_ptr(),
                    jobs.data.as_ptr(),
                    jobs.ends.as_ptr(),
                    jobs.rnd(),
                    or_null(0, pk),
                    or_null(1, sk),
                    or_null(2, signature),
                )
            };
            assert_eq!(status, 0);
            for job in 0..count {
                let xi = jobs.xi.as_chunks::<32>().0[job];
                let key = SigningKey::<P>::from_seed(&xi);
                let (message, context, rnd) = jobs.parts(job);
                let context = mldsa_lanes::Context::new(context).unwrap();
                let input = mldsa_lanes::Input::Pure { message, context };
                let public = key.verifying_key();
                let signed = key.sign_with(input, with_rnd(&[rnd])).unwrap();
                let expected: [&[u8]; 3] = [
                    public.as_bytes().as_ref(),
                    key.encoded_bytes().as_ref(),
                    signed.as_ref(),
                ];
                for (i, size) in sizes.iter().enumerate() {
                    let got = &out[i][job * size..][..*size];
                    if wanted >> i & 1 == 1 {
                        assert_eq!(got, expected[i], "{} {job} {i}", P::NAME);
                    } else {
                        assert!(got.iter().all(|byte| *byte == 0xee));
                    }
                }
            }
        }
    }
}

#[test]
fn signatures_of_every_set() {
    signatures_equal_single_calls::<MlDsa44>();
    signatures_equal_single_calls::<MlDsa65>();
    signatures_equal_single_calls::<MlDsa87>();
}

#[test]
fn room_is_enough_or_reported() {
    let jobs = Jobs::new(2, (0..1100).map(|i| i / 600).collect(), false);
    let (status, codes, ends, needed) = jobs.run(65, 0, 8000);
    assert_eq!(status, 0);
    assert!((5000..6500).contains(&needed), "{needed}");
    for room in [0, 1, needed - 1] {
        let (status, _, _, again) = jobs.run(65, 0, room);
        assert_eq!((status, again), (Failure::Buffer as i32, needed), "{room}");
    }
    let (status, exact, exact_ends, _) = jobs.run(65, 0, needed);
    assert_eq!(status, 0);
    assert!(exact == codes[..needed] && exact_ends == ends);
}

/// Whether a change of good jobs is refused with `failure`, by both functions if `both`.
fn refused(failure: Failure, both: bool, change: impl FnOnce(&mut Jobs)) {
    let mut jobs = Jobs::new(3, vec![0, 1, 2], true);
    change(&mut jobs);
    let (status, codes, _, needed) = jobs.run(44, 0, 100);
    assert_eq!(status, failure as i32);
    assert!(needed == 0 && codes.iter().all(|code| *code == 0x5555));
    if both {
        let mut pk = vec![0; 3 * 1312];
        // SAFETY: the buffers are as long as the header asks, and nothing else uses them.
        let status = unsafe {
            mldsa_trace_sign(
                44,
                0,
                3,
                jobs.xi.as_ptr(),
                jobs.data.as_ptr(),
                jobs.ends.as_ptr(),
                jobs.rnd(),
                pk.as_mut_ptr(),
                null_mut(),
                null_mut(),
            )
        };
        assert_eq!(status, failure as i32);
        assert!(pk.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn what_the_jobs_break_is_named() {
    refused(Failure::KeyNumber, false, |jobs| jobs.key_of[2] = 3);
    refused(Failure::KeyNumber, false, |jobs| jobs.key_of[0] = u32::MAX);
    refused(Failure::KeyNumber, false, |jobs| jobs.xi.truncate(64));
    refused(Failure::Ends, true, |jobs| {
        jobs.ends[2] = jobs.ends[1] - u64::from(jobs.ends[1] > 0);
        jobs.ends[1] = jobs.ends[2] + 1;
    });
    refused(Failure::Ends, true, |jobs| jobs.ends[0] = jobs.ends[5] + 1);
    refused(Failure::Ends, true, |jobs| jobs.ends[5] = 0);
    refused(Failure::Context, true, |jobs| {
        jobs.data.resize(5000, 0);
        jobs.ends = vec![0, 0, 700, 956, 956, 956];
    });
    refused(Failure::Size, true, |jobs| jobs.ends[5] = u64::MAX);
}

/// The arguments of a good call of `mldsa_trace_run`, to be spoilt one at a time.
struct Arguments {
    set: u32,
    all: u32,
    form: u32,
    keys: usize,
    xi: *const u8,
    jobs: usize,
    key_of: *const u32,
    data: *const u8,
    ends: *const u64,
    room: usize,
    codes: *mut u16,
    code_ends: *mut u64,
    needed: *mut usize,
}

/// The status of a call with spoilt arguments.
fn call(spoil: impl FnOnce(&mut Arguments)) -> i32 {
    let jobs = Jobs::new(2, vec![0, 1], false);
    let mut codes = vec![0u16; 200];
    let mut code_ends = vec![0u64; 2];
    let mut needed = 0;
    let mut a = Arguments {
        set: 44,
        all: 0,
        form: 0,
        keys: 2,
        xi: jobs.xi.as_ptr(),
        jobs: 2,
        key_of: jobs.key_of.as_ptr(),
        data: jobs.data.as_ptr(),
        ends: jobs.ends.as_ptr(),
        room: 200,
        codes: codes.as_mut_ptr(),
        code_ends: code_ends.as_mut_ptr(),
        needed: &mut needed,
    };
    spoil(&mut a);
    // SAFETY: the buffers are as long as the header asks, or the call must refuse before it uses them.
    unsafe {
        mldsa_trace_run(
            a.set,
            a.all,
            a.form,
            a.keys,
            a.xi,
            a.jobs,
            a.key_of,
            a.data,
            a.ends,
            null(),
            a.room,
            a.codes,
            a.code_ends,
            a.needed,
        )
    }
}

#[test]
fn what_the_arguments_break_is_named() {
    assert_eq!(call(|_| {}), 0);
    for set in [0, 1, 45, 65 << 8, u32::MAX] {
        assert_eq!(call(|a| a.set = set), Failure::Set as i32);
    }
    for all in [2, u32::MAX] {
        assert_eq!(call(|a| a.all = all), Failure::Option as i32);
    }
    for form in [2, u32::MAX] {
        assert_eq!(call(|a| a.form = form), Failure::Form as i32);
    }
    let pointer = Failure::Null as i32;
    assert_eq!(call(|a| a.xi = null()), pointer);
    assert_eq!(call(|a| a.key_of = null()), pointer);
    assert_eq!(call(|a| a.data = null()), pointer);
    assert_eq!(call(|a| a.ends = null()), pointer);
    assert_eq!(call(|a| a.codes = null_mut()), pointer);
    assert_eq!(call(|a| a.code_ends = null_mut()), pointer);
    assert_eq!(call(|a| a.needed = null_mut()), pointer);
    assert_eq!(call(|a| a.key_of = a.key_of.wrapping_byte_add(1)), pointer);
    assert_eq!(call(|a| a.codes = a.codes.wrapping_byte_add(1)), pointer);
    assert_eq!(call(|a| a.needed = a.needed.wrapping_byte_add(4)), pointer);
    let size = Failure::Size as i32;
    assert_eq!(call(|a| a.keys = usize::MAX), size);
    assert_eq!(call(|a| a.keys = usize::MAX / 32), size);
    assert_eq!(call(|a| a.jobs = usize::MAX), size);
    assert_eq!(call(|a| a.jobs = usize::MAX / 8), size);
    assert_eq!(call(|a| a.room = usize::MAX), size);
    // Where there is nothing, nothing need be there.
    assert_eq!(
        call(|a| {
            (a.keys, a.jobs, a.room) = (0, 0, 0);
            (a.xi, a.key_of, a.data, a.ends) = (null(), null(), null(), null());
            (a.codes, a.code_ends) = (null_mut(), null_mut());
        }),
        0
    );
    let empty = [0u64; 4];
    let nothing = |a: &mut Arguments| (a.data, a.ends) = (null(), empty.as_ptr());
    assert_eq!(call(nothing), 0);
}

/// The arguments of `mldsa_trace_sign` that `mldsa_trace_run` has not.
#[test]
fn what_the_arguments_break_in_signing_is_named() {
    let jobs = Jobs::new(2, vec![0, 1], false);
    let call = |set, count, xi, ends, pk: *mut u8| {
        let data = jobs.data.as_ptr();
        let no = null_mut();
        // SAFETY: the call must refuse before it uses what is too short.
        unsafe { mldsa_trace_sign(set, 0, count, xi, data, ends, null(), pk, no, no) }
    };
    let (xi, ends) = (jobs.xi.as_ptr(), jobs.ends.as_ptr());
    let mut pk = vec![0; 2 * 1312];
    let pk = pk.as_mut_ptr();
    assert_eq!(call(44, 2, xi, ends, pk), 0);
    assert_eq!(call(43, 2, xi, ends, pk), Failure::Set as i32);
    assert_eq!(call(44, 2, null(), ends, pk), Failure::Null as i32);
    assert_eq!(call(44, 2, xi, null(), pk), Failure::Null as i32);
    assert_eq!(call(44, usize::MAX / 2, xi, ends, pk), Failure::Size as i32);
    assert_eq!(call(44, 0, null(), null(), null_mut()), 0);
}

/// Private keys give the traces that their seeds give; what no key generation writes is refused.
fn private_keys<P: ParameterSet>() {
    let jobs = Jobs::new(40, (0..90).map(|job| job * 7 % 40).collect(), true);
    let good = jobs.private::<P>();
    let (status, codes, ends, needed) = jobs.run_with(number::<P>(), 1, 1, 40, &good, 2000);
    assert_eq!(status, 0);
    assert_eq!(
        codes[..needed],
        jobs.run(number::<P>(), 1, 2000).1[..needed]
    );
    assert_eq!(ends, jobs.run(number::<P>(), 1, 2000).2);
    // A bit of tr, of s1, of t0; s1 out of range (44 and 87 have no room for that in every code).
    for (at, bit) in [
        (64, 1),
        (130, 1),
        (P::SIGNING_KEY_BYTES - 1, 128),
        (128, 255),
    ] {
        let mut bad = good.clone();
        bad[3 * P::SIGNING_KEY_BYTES + at] ^= bit;
        let status = jobs.run_with(number::<P>(), 1, 1, 40, &bad, 2000).0;
        assert_eq!(status, Failure::Key as i32, "{} {at}", P::NAME);
    }
    // A key that no job uses is not looked at.
    let mut unused = Jobs::new(3, vec![0, 2, 0], false);
    unused.xi.truncate(96);
    let mut keys = unused.private::<P>();
    keys[P::SIGNING_KEY_BYTES + 70] ^= 1;
    assert_eq!(unused.run_with(number::<P>(), 0, 1, 3, &keys, 100).0, 0);
}

#[test]
fn private_keys_of_every_set() {
    private_keys::<MlDsa44>();
    private_keys::<MlDsa65>();
    private_keys::<MlDsa87>();
}

/// The header's numbers are those of [`Failure`], and each has a sentence of its own.
#[test]
fn the_header_has_the_codes() {
    let header = include_str!("../include/mldsa_trace.h").replace('_', "");
    for failure in Failure::ALL {
        let name = format!("{failure:?}").to_uppercase();
        let line = format!("MLDSATRACEERROR{name} = {}", failure as i32);
        assert!(header.contains(&line), "{line}");
    }
    let codes = header.matches("    MLDSATRACEERROR").count();
    assert_eq!(codes, Failure::ALL.len());
    let past = codes as i32 + 1;
    // SAFETY: the header promises a static string that ends with NUL.
    let texts = (-1..=past).map(|code| unsafe { CStr::from_ptr(mldsa_trace_error_string(code)) });
    let texts: Vec<_> = texts.map(|text| text.to_str().unwrap()).collect();
    assert_eq!(texts.first(), texts.last());
    assert_eq!(texts.iter().collect::<HashSet<_>>().len(), codes + 2);
}
