//! Interval analysis of the kernels' own text: [`Lanes`] of intervals in place of numbers, so that a
//! kernel, or a whole operation, runs once for all inputs at a time. Every step asserts that it cannot
//! overflow, in 32 bits or, in accumulators, in 64; `kernels::bounds` asserts what the engines' methods
//! take, and hands on no more than what they give.
//!
//! Memory holds coefficients of 32 bits, so a coefficient that is not one number is a cell: a number
//! from `CELLS` on, which no other coefficient is, that counts the intervals of this thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::kernels::bounds::{Coefficients, Range};
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE, Transform};
use crate::kernels::sampling::Rejection;
use crate::kernels::small::ByteLanes;
use crate::params::{N, Q};

const CELLS: i32 = 1 << 30;

/// What the analysis does with the inputs of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// They must be in the range that the kernel takes.
    AsTheyCome,
    /// They are all of that range.
    AllThatAreTaken,
}

struct State {
    inputs: Inputs,
    /// The answer of every check of a norm.
    beyond: bool,
    cells: Vec<Interval>,
    /// How many there have been.
    lanes: u64,
    /// Of stores of 0 or 1.
    bits: usize,
    seen: Seen,
}

/// What was checked, by its name.
pub(crate) type Seen = BTreeMap<String, Checked>;

/// Coefficients that a kernel takes or gives: what is stated, and all that they may be by the text
/// that they come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) stated: Interval,
    pub(crate) found: Interval,
    /// Whether the one was within the other each time.
    pub(crate) holds: bool,
}

std::thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

fn with<T>(f: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(|state| f(state.as_mut().expect("an analysis is under way")))
}

/// Runs `operation` for all inputs; what its kernels took and gave.
pub(crate) fn analyse(inputs: Inputs, beyond: bool, operation: impl FnOnce()) -> Seen {
    STATE.set(Some(State {
        inputs,
        beyond,
        cells: Vec::new(),
        lanes: 0,
        bits: 0,
        seen: Seen::new(),
    }));
    operation();
    STATE.take().expect("the analysis that began").seen
}

pub(crate) fn is_under_way() -> bool {
    STATE.with_borrow(Option::is_some)
}

/// `kernels::bounds::check` in an analysis.
pub(crate) fn check(what: &str, of: &(impl Coefficients + ?Sized), range: Range) {
    let stated = Interval(range.0.into(), range.1.into());
    of.each(&mut |x| {
        with(|state| {
            let cell = state.cells.get_mut(x.wrapping_sub(CELLS) as usize);
            let found = cell.as_ref().map_or(Interval::point(x), |cell| **cell);
            let holds = found.0 >= stated.0 && found.1 <= stated.1;
            let narrowed = Interval(found.0.max(stated.0), found.1.min(stated.1));
            assert!(
                narrowed.0 <= narrowed.1,
                "{what} {stated:?}, never {found:?}"
            );
            let taken = what.contains(" takes ");
            if taken && state.inputs == Inputs::AsTheyCome {
                assert!(holds, "{what} {stated:?}, but comes as {found:?}");
            }
            if !what.contains(" leaves ") {
                let found = if taken { narrowed } else { found };
                let seen = state.seen.entry(what.to_string());
                let checked = seen.or_insert(Checked {
                    stated,
                    found,
                    holds: true,
                });
                checked.stated = checked.stated.hull(stated);
                checked.found = checked.found.hull(found);
                checked.holds &= holds || taken;
            }
            if let Some(cell) = cell {
                *cell = narrowed;
            }
        });
    });
}

/// Any coefficient at all.
pub(crate) fn anything() -> i32 {
    Interval(i32::MIN.into(), i32::MAX.into()).store()
}

/// The numbers from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval(pub(crate) i128, pub(crate) i128);

impl Interval {
    const fn point(x: i32) -> Self {
        Interval(x as i128, x as i128)
    }
    pub(crate) fn hull(self, other: Self) -> Self {
        Interval(self.0.min(other.0), self.1.max(other.1))
    }
    /// No overflow in so many bits.
    #[track_caller]
    fn fits(self, bits: u32) -> Self {
        let end = 1i128 << (bits - 1);
        assert!(
            -end <= self.0 && self.1 < end,
            "{self:?} overflows {bits} bits"
        );
        self
    }
    fn add(self, other: Self) -> Self {
        Interval(self.0 + other.0, self.1 + other.1)
    }
    fn negated(self) -> Self {
        Interval(-self.1, -self.0)
    }
    fn mul(self, other: Self) -> Self {
        let products = [
            self.0 * other.0,
            self.0 * other.1,
            self.1 * other.0,
            self.1 * other.1,
        ];
        let least = products.into_iter().min().expect("four");
        Interval(least, products.into_iter().max().expect("four"))
    }
    fn is_mask(self) -> bool {
        self.0 >= -1 && self.1 <= 0
    }
    /// Where `mask` is all ones, and zero where it is zero.
    fn masked(self, mask: Self) -> Self {
        let kept = if mask.0 == -1 { self } else { Self::point(0) };
        let dropped = if mask.1 == 0 { Self::point(0) } else { self };
        kept.hull(dropped)
    }
    /// (s − m·q) / 2^32 for the m in [-2^31, 2^31) that makes it a whole number.
    fn reduced(self) -> Self {
        let limit = i128::from(Q) << 31;
        assert!(
            -limit < self.0 && self.1 < limit,
            "{self:?} is too much for a Montgomery reduction"
        );
        let multiple = Interval(-(1 << 31), (1 << 31) - 1).mul(Self::point(Q));
        let difference = self.add(multiple.negated()).fits(64);
        // A whole number: rounded inwards.
        Interval(-(-difference.0 >> 32), difference.1 >> 32).fits(32)
    }
    fn load(raw: i32) -> Self {
        with(|state| {
            let cell = state.cells.get(raw.wrapping_sub(CELLS) as usize);
            cell.copied().unwrap_or(Self::point(raw))
        })
    }
    fn store(self) -> i32 {
        with(|state| {
            if self == Interval(0, 1) {
                // Hints are counted by the scheme: one in 64, which is below every ω.
                state.bits += 1;
                return i32::from(state.bits.is_multiple_of(64));
            }
            if self.0 == self.1 && self.0.abs() < CELLS.into() {
                return self.0 as i32;
            }
            state.cells.push(self);
            CELLS + (state.cells.len() as i32 - 1)
        })
    }
}

/// A coefficient, and where it comes from.
#[derive(Clone, Copy)]
struct Lane {
    of: Interval,
    /// As it came from memory.
    raw: i32,
    /// No other lane's, but of its copies.
    id: u64,
    only: Option<Only>,
}

/// A lane that is `value` where the lane `id` is above `bound`, or is not, and else 0.
#[derive(Clone, Copy)]
struct Only {
    value: Interval,
    id: u64,
    bound: i128,
    above: bool,
}

impl Lane {
    #[track_caller]
    fn new(of: Interval) -> Self {
        let id = with(|state| {
            state.lanes += 1;
            state.lanes
        });
        let of = of.fits(32);
        Lane {
            of,
            raw: 0,
            id,
            only: None,
        }
    }
    fn load(raw: i32) -> Self {
        Lane {
            raw,
            ..Lane::new(Interval::load(raw))
        }
    }
    /// All ones where `x` is above `bound`, or is not; else zero.
    fn mask(x: Lane, bound: i128, above: bool) -> Self {
        let (may, must) = (x.of.1 > bound, x.of.0 > bound);
        let (may, must) = if above { (may, must) } else { (!must, !may) };
        let of = Interval(-i128::from(may), -i128::from(must));
        let only = Only {
            value: Interval::point(-1),
            id: x.id,
            bound,
            above,
        };
        Lane {
            only: Some(only),
            ..Lane::new(of)
        }
    }
    /// x and, where `other` is its value, f(x, that): numbers of one origin are looked at together.
    #[track_caller]
    fn combine(self, other: Lane, f: impl Fn(Interval, Interval) -> Interval) -> Self {
        let Some(only) = other.only.filter(|only| only.id == self.id) else {
            return Lane::new(f(self.of, other.of));
        };
        let parts = [
            (
                Interval(self.of.0.max(only.bound + 1), self.of.1),
                only.above,
            ),
            (Interval(self.of.0, self.of.1.min(only.bound)), !only.above),
        ];
        let parts = parts.into_iter().filter(|(x, _)| x.0 <= x.1);
        let parts = parts.map(|(x, is)| f(x, if is { only.value } else { Interval::point(0) }));
        Lane::new(parts.reduce(Interval::hull).expect("one of the two"))
    }
    fn and(self, other: Lane) -> Self {
        if other.of.is_mask() && other.only.is_some_and(|only| only.id == self.id) {
            return self.combine(other, |x, mask| x.masked(mask));
        }
        match (self.of.is_mask(), other.of.is_mask()) {
            (_, true) => Lane {
                only: other.only.map(|only| Only {
                    value: self.of,
                    ..only
                }),
                ..Lane::new(self.of.masked(other.of))
            },
            (true, _) => other.and(self),
            _ => {
                let both = [self.of, other.of];
                let most = both.iter().filter(|x| x.0 >= 0).map(|x| x.1).min();
                Lane::new(Interval(
                    0,
                    most.expect("a conjunction with what may be negative"),
                ))
            }
        }
    }
}

/// `COUNT` lanes. `ARM`: with the instructions of the NEON backend's Montgomery products.
#[derive(Clone, Copy)]
pub(crate) struct Intervals<const COUNT: usize, const ARM: bool>([Lane; COUNT]);

impl<const COUNT: usize, const ARM: bool> Intervals<COUNT, ARM> {
    fn each(range: Interval) -> Self {
        Intervals([range; COUNT].map(Lane::new))
    }
    // Kernels have thousands of uses: a function for each operation halves the build of these tests.
    #[inline(never)]
    fn map(self, f: impl Fn(Lane) -> Lane) -> Self {
        Intervals(self.0.map(f))
    }
    #[inline(never)]
    fn zip(self, other: Self, f: impl Fn(Lane, Lane) -> Lane) -> Self {
        Intervals(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl<const COUNT: usize, const ARM: bool> Lanes for Intervals<COUNT, ARM> {
    type Token = ();
    type Wide = [Interval; COUNT];
    const COUNT: usize = COUNT;

    #[inline(never)]
    fn splat((): (), value: i32) -> Self {
        Intervals([value; COUNT].map(|raw| Lane {
            raw,
            ..Lane::new(Interval::point(raw))
        }))
    }
    #[inline(never)]
    fn load((): (), from: &[i32]) -> Self {
        Intervals(core::array::from_fn(|i| Lane::load(from[i])))
    }
    #[inline(never)]
    fn store(self, to: &mut [i32]) {
        for (to, x) in to[..COUNT].iter_mut().zip(self.0) {
            *to = x.of.store();
        }
    }
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a.combine(b, Interval::add))
    }
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a.combine(b, |a, b| a.add(b.negated())))
    }
    /// Kernels mean the whole product.
    fn mul_low(self, other: Self) -> Self {
        self.zip(other, |a, b| Lane::new(a.of.mul(b.of)))
    }
    fn and(self, other: Self) -> Self {
        self.zip(other, Lane::and)
    }
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| {
            assert!(
                a.of.is_mask() && b.of.is_mask(),
                "a disjunction but of masks"
            );
            Lane::new(Interval(a.of.0.min(b.of.0), a.of.1.min(b.of.1)))
        })
    }
    fn shift_right<const BITS: i32>(self) -> Self {
        self.map(|x| match BITS {
            31 => Lane::mask(x, -1, false),
            _ => Lane::new(Interval(x.of.0 >> BITS, x.of.1 >> BITS)),
        })
    }
    fn greater(self, other: Self) -> Self {
        self.zip(other, |a, b| {
            if b.of.0 == b.of.1 {
                return Lane::mask(a, b.of.0, true);
            }
            if a.of.0 == a.of.1 {
                return Lane::mask(b, a.of.0 - 1, false);
            }
            let (may, must) = (a.of.1 > b.of.0, a.of.0 > b.of.1);
            Lane::new(Interval(-i128::from(may), -i128::from(must)))
        })
    }
    fn abs(self) -> Self {
        self.map(|x| Lane::new(Interval(x.of.0.max(-x.of.1).max(0), x.of.1.max(-x.of.0))))
    }
    fn any(self) -> bool {
        with(|state| state.beyond)
    }

    fn montgomery(self, other: Self) -> Self {
        self.zip(other, |a, b| {
            // Both at once: the doubled product of the high halves saturates.
            assert!(!ARM || a.of.0 > i32::MIN.into() || b.of.0 > i32::MIN.into());
            Lane::new(a.of.mul(b.of).fits(64).reduced())
        })
    }
    fn wide_zero((): ()) -> Self::Wide {
        [Interval::point(0); COUNT]
    }
    #[inline(never)]
    fn wide_add(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide {
        core::array::from_fn(|i| accumulator[i].add(a.0[i].of.mul(b.0[i].of)).fits(64))
    }
    #[inline(never)]
    fn wide_sub(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide {
        core::array::from_fn(|i| {
            accumulator[i]
                .add(a.0[i].of.mul(b.0[i].of).negated())
                .fits(64)
        })
    }
    #[inline(never)]
    fn wide_reduce(accumulator: Self::Wide) -> Self {
        Intervals(accumulator.map(|sum| Lane::new(sum.reduced())))
    }

    fn from_triples((): (), _: &[u8]) -> Self {
        Self::each(Interval(0, (1 << 23) - 1))
    }
    fn from_halves((): (), _: &[u8], _: usize) -> Self {
        Self::each(Interval(0, 15))
    }
    fn from_bits<const BITS: u32>((): (), _: &[u8], _: usize) -> Self {
        Self::each(Interval(0, (1 << BITS) - 1))
    }
    /// s1 and s2 as they stand, since what takes them next are bytes.
    #[inline(never)]
    fn from_any_bits<const BITS: u32>((): (), from: &[u8], at: usize) -> Self {
        if BITS > 4 {
            return Self::from_bits::<BITS>((), from, at);
        }
        let values: [_; COUNT] = core::array::from_fn(|i| i32::from_bits::<BITS>((), from, at + i));
        Self::load((), &values)
    }
    /// No string is written: what reads it takes any.
    #[inline(never)]
    fn write_bits<const BITS: usize>((): (), p: &[i32; N], map: Map, _: &mut [u8]) {
        for at in (0..N).step_by(COUNT) {
            for x in map.apply((), Self::load((), &p[at..])).0 {
                let x = x.of;
                assert!(x.0 >= 0 && x.1 < 1 << BITS, "{x:?} in {BITS} bits");
            }
        }
    }
    /// As if all were kept that can be.
    #[inline(never)]
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize {
        let kept = self.zip(keep, |x, keep| {
            assert!(keep.of.is_mask());
            let only = keep.only.filter(|only| only.id == x.id);
            Lane::new(match only {
                Some(only) if only.above => Interval(x.of.0.max(only.bound + 1), x.of.1),
                Some(only) => Interval(x.of.0, x.of.1.min(only.bound)),
                None => x.of,
            })
        });
        kept.store(to);
        COUNT
    }

    fn from_bytes((): (), from: &[u8]) -> Self {
        Intervals(core::array::from_fn(|i| Lane::load(from[i].into())))
    }
}

impl<const COUNT: usize, const ARM: bool> Rejection for Intervals<COUNT, ARM> {}

impl<const COUNT: usize, const ARM: bool> Transform for Intervals<COUNT, ARM> {
    const BARRETT: bool = ARM;
    const MIXED: bool = COUNT > 1 && !ARM;
    #[inline(never)]
    fn times(self, [constant, companion]: [Self; 2], above: [Self; 2]) -> Self {
        // What x86-64 multiplies odd lanes by.
        for odd in (1..COUNT).step_by(2).filter(|_| !ARM) {
            assert_eq!(above[0].0[odd - 1].raw, constant.0[odd].raw);
            assert_eq!(above[1].0[odd - 1].raw, companion.0[odd].raw);
        }
        for (c, companion) in constant.0.iter().zip(companion.0) {
            if ARM {
                // Half of q at most between the companion and c·2^31 / q, both times q.
                let exact = i64::from(c.raw) << 31;
                let rest = exact - i64::from(companion.raw) * i64::from(Q);
                assert!(2 * rest.abs() <= i64::from(Q));
            } else {
                assert_eq!(companion.raw, c.raw.wrapping_mul(Q_INVERSE));
            }
        }
        if !ARM {
            return self.montgomery(constant);
        }
        self.map(|x| {
            let most = x.of.fits(32).1.max(-x.of.0);
            let rest = (i128::from(Q) * (most + (1 << 31))) >> 32;
            Lane::new(Interval(-rest, rest))
        })
    }
    #[inline(never)]
    fn exchange<const HOP: usize>(mut a: Self, mut b: Self) -> (Self, Self) {
        for lane in (0..COUNT).filter(|lane| lane & HOP == 0) {
            core::mem::swap(&mut a.0[lane + HOP], &mut b.0[lane]);
        }
        (a, b)
    }
}

/// `COUNT` sums of bytes; of the bytes added, at a time, the least and the most. Stored as the one
/// and the other in turn.
#[derive(Clone, Copy)]
pub(crate) struct ByteIntervals<const COUNT: usize>(u8, u8);

impl<const COUNT: usize> ByteLanes for ByteIntervals<COUNT> {
    type Token = ();
    const COUNT: usize = COUNT;
    fn zero((): ()) -> Self {
        ByteIntervals(0, 0)
    }
    fn add(self, from: &[u8]) -> Self {
        let from = &from[..COUNT];
        let (least, most) = (from.iter().min(), from.iter().max());
        let sum = |a: u8, b: Option<&u8>| a.checked_add(*b.expect("a byte")).expect("no carry");
        ByteIntervals(sum(self.0, least), sum(self.1, most))
    }
    fn store(self, to: &mut [u8]) {
        for (i, to) in to[..COUNT].iter_mut().enumerate() {
            *to = if i % 2 == 0 { self.0 } else { self.1 };
        }
    }
}
