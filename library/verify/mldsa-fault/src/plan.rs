//! Which faults are drawn.

use crate::code::{Code, Place, Site};
use crate::machine::{Coverage, Fault, How, What};
use crate::numbers::Numbers;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Skip,
    Stale,
    Turn,
    Result,
    Load,
    Operand,
    Stack,
    Key,
}

impl Kind {
    /// Each with its share in percent.
    pub const ALL: [(Kind, usize); 8] = [
        (Kind::Skip, 25),
        (Kind::Stale, 10),
        (Kind::Turn, 10),
        (Kind::Result, 20),
        (Kind::Load, 10),
        (Kind::Operand, 15),
        (Kind::Stack, 5),
        (Kind::Key, 5),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Skip => "skip",
            Kind::Stale => "stale",
            Kind::Turn => "turn",
            Kind::Result => "result",
            Kind::Load => "load",
            Kind::Operand => "operand",
            Kind::Stack => "stack",
            Kind::Key => "key",
        }
    }
}

/// The instructions of an operation that a kind may hit.
struct Group {
    kind: Kind,
    flat: Vec<usize>,
    by_function: Vec<Vec<usize>>,
}

/// The groups of all kinds that hit an instruction.
pub struct Sites(Vec<Group>);

/// Whether a kind may hit an instruction.
type Fits<'a> = &'a dyn Fn(&Site) -> bool;

impl Sites {
    pub fn new(code: &Code, coverage: &Coverage) -> Self {
        let any = |_: &Site| true;
        let kinds: [(Kind, Fits<'_>); 5] = [
            (Kind::Skip, &any),
            (Kind::Stale, &Site::is_call),
            (Kind::Turn, &Site::is_branch),
            (Kind::Result, &any),
            (Kind::Load, &Site::reads_memory),
        ];
        let all = kinds.map(|(kind, fits)| {
            let sites = coverage.sites.iter().copied();
            let flat: Vec<usize> = sites.filter(|site| fits(&code.sites[*site])).collect();
            let grouped = flat.chunk_by(|a, b| code.sites[*a].function == code.sites[*b].function);
            Group {
                kind,
                by_function: grouped.map(<[usize]>::to_vec).collect(),
                flat,
            }
        });
        Sites(all.into())
    }

    /// An instruction: half of the time all are as likely, half of the time all functions are, so that
    /// the few that decide are not lost among those of unrolled loops.
    fn draw(&self, kind: Kind, numbers: &mut Numbers) -> Option<usize> {
        let group = self.0.iter().find(|group| group.kind == kind)?;
        if numbers.below(2) == 0 {
            return numbers.one_of(&group.flat).copied();
        }
        let function = numbers.one_of(&group.by_function)?;
        numbers.one_of(function).copied()
    }

    /// A fault of the kind in an operation whose clock ticks so often.
    pub fn fault(&self, kind: Kind, ticks: u32, numbers: &mut Numbers) -> Option<Fault> {
        let tick = match (kind, numbers.below(5)) {
            // At the start the whole way is still to come.
            (Kind::Skip | Kind::Stale | Kind::Turn | Kind::Result | Kind::Load, 0) => 0,
            _ => 1 + numbers.below(ticks as usize) as u32,
        };
        let hit = match numbers.below(2) {
            0 => 1,
            _ => 2 + numbers.below(15) as u32,
        };
        let at = |how, site| What::At { site, hit, how };
        let what = match kind {
            Kind::Skip | Kind::Stale => at(How::Skip, self.draw(kind, numbers)?),
            Kind::Turn => at(How::Turn, self.draw(kind, numbers)?),
            Kind::Result => at(How::Result, self.draw(kind, numbers)?),
            Kind::Load => at(How::Load, self.draw(kind, numbers)?),
            Kind::Operand => What::Operand,
            Kind::Stack => What::Stack,
            Kind::Key => What::Key,
        };
        Some(Fault {
            tick,
            what,
            seed: numbers.draw(),
        })
    }
}

/// Bits that a sweep flips of what an instruction in the caller's frame wrote.
const FLIPS: u64 = 8;

/// Each instruction that is reached left out, and each conditional jump turned, when it is reached for the
/// first time and for the second; bits of what it wrote flipped when it is reached first: one, or in the
/// caller's frame eight.
pub fn sweep(code: &Code, coverage: &Coverage, places: &[Place]) -> Vec<(Kind, Fault)> {
    let fault = |site, hit, kind, how, seed| {
        let what = What::At { site, hit, how };
        (
            kind,
            Fault {
                tick: 0,
                what,
                seed,
            },
        )
    };
    let each = |&site: &usize| {
        let reached = &code.sites[site];
        let skip = match reached.is_call() {
            true => Kind::Stale,
            false => Kind::Skip,
        };
        let mut faults = Vec::new();
        for hit in [1, 2] {
            faults.push(fault(site, hit, skip, How::Skip, 0));
            if reached.is_branch() {
                faults.push(fault(site, hit, Kind::Turn, How::Turn, 0));
            }
        }
        let flips = match reached.place {
            Place::Library => 1,
            Place::Inlined | Place::Caller => FLIPS,
        };
        let numbers = Numbers::of(&[site as u64]);
        let seeds = (0..flips).scan(numbers, |numbers, _| Some(numbers.draw()));
        faults.extend(seeds.map(|seed| fault(site, 1, Kind::Result, How::Result, seed)));
        faults
    };
    let mut sites: Vec<usize> = coverage.sites.clone();
    sites.retain(|site| places.contains(&code.sites[*site].place));
    sites.iter().flat_map(each).collect()
}

/// A kind, by its share.
pub fn kind(numbers: &mut Numbers) -> Kind {
    let mut left = numbers.below(100);
    for (kind, share) in Kind::ALL {
        if left < share {
            return kind;
        }
        left -= share;
    }
    unreachable!("the shares are 100 in all")
}
