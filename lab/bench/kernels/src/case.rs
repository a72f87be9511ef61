//! A kernel, and its implementations in a form that can be checked and timed.

use std::hint::black_box;

use mldsa_lanes::Backend;

/// One implementation of a kernel with buffers of its own.
pub trait Case {
    /// Puts the inputs back.
    fn reset(&mut self);
    /// Calls the kernel so many times. After a [`Case::reset`] the first call has the inputs; later
    /// ones have what the call before left, which may be out of the kernel's range. No kernel's time
    /// depends on it: the samplers, whose time does, leave their inputs alone.
    fn run(&mut self, times: u32);
    /// The result, in the bytes that all implementations of the kernel share.
    fn output(&mut self) -> Vec<u8>;
}

struct Made<S, R, C, O> {
    state: S,
    restore: R,
    call: C,
    output: O,
}

impl<S, R, C, O> Case for Made<S, R, C, O>
where
    R: Fn(&mut S),
    C: Fn(&mut S),
    O: Fn(&S) -> Vec<u8>,
{
    fn reset(&mut self) {
        (self.restore)(&mut self.state);
    }
    fn run(&mut self, times: u32) {
        for _ in 0..times {
            (self.call)(black_box(&mut self.state));
        }
        black_box(&mut self.state);
    }
    fn output(&mut self) -> Vec<u8> {
        (self.output)(&self.state)
    }
}

/// A case whose inputs and buffers are `state`; `call` runs the kernel once on them.
pub fn case<S: Clone + 'static>(
    state: S,
    call: impl Fn(&mut S) + 'static,
    output: impl Fn(&S) -> Vec<u8> + 'static,
) -> Box<dyn Case> {
    let pristine = state.clone();
    restored(
        state,
        move |state| state.clone_from(&pristine),
        call,
        output,
    )
}

/// [`case`] for a state that cannot be cloned.
pub fn restored<S: 'static>(
    state: S,
    restore: impl Fn(&mut S) + 'static,
    call: impl Fn(&mut S) + 'static,
    output: impl Fn(&S) -> Vec<u8> + 'static,
) -> Box<dyn Case> {
    Box::new(Made {
        state,
        restore,
        call,
        output,
    })
}

/// An implementation of a kernel.
pub struct Entry {
    /// A backend of mldsa-lanes, or a peer.
    pub implementation: &'static str,
    /// Units that one call does.
    pub units: u32,
    pub case: Box<dyn Case>,
}

/// A kernel. The first entry is the portable backend, which the others must agree with.
pub struct Kernel {
    pub name: &'static str,
    /// What a time is given for.
    pub unit: &'static str,
    pub entries: Vec<Entry>,
}

/// The kernels asked for, as they are collected.
pub struct Kernels {
    names: Vec<String>,
    backends: Vec<Backend>,
    pub list: Vec<Kernel>,
    /// Names of the kernels that were not asked for, too.
    pub known: Vec<&'static str>,
}

impl Kernels {
    /// Of the kernels whose names contain one of `names` (all, if there are none), on the portable
    /// backend and `backends`.
    pub fn new(names: &[String], backends: &[Backend]) -> Self {
        let portable = Backend::portable();
        let mut all = vec![portable];
        all.extend(backends.iter().filter(|backend| **backend != portable));
        Kernels {
            names: names.to_vec(),
            backends: all,
            list: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Adds a kernel, if it was asked for, with what `fill` puts in. `unit` is what its time is
    /// given for.
    pub fn kernel(
        &mut self,
        name: &'static str,
        unit: &'static str,
        fill: impl FnOnce(&mut Filled),
    ) {
        self.known.push(name);
        if self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str())) {
            let mut filled = Filled {
                backends: self.backends.clone(),
                entries: Vec::new(),
            };
            fill(&mut filled);
            let entries = filled.entries;
            self.list.push(Kernel {
                name,
                unit,
                entries,
            });
        }
    }
}

/// The implementations of one kernel, as they are collected.
pub struct Filled {
    backends: Vec<Backend>,
    entries: Vec<Entry>,
}

impl Filled {
    /// A case on each backend, each call doing `units` units.
    pub fn ours(&mut self, units: u32, make: impl Fn(Backend) -> Box<dyn Case>) {
        self.ours_by(|_| units, make);
    }

    /// [`Filled::ours`] where the units depend on the backend.
    pub fn ours_by(
        &mut self,
        units: impl Fn(Backend) -> u32,
        make: impl Fn(Backend) -> Box<dyn Case>,
    ) {
        for backend in self.backends.clone() {
            self.peer(backend.name(), units(backend), make(backend));
        }
    }

    /// A case of a peer, each call doing `units` units.
    pub fn peer(&mut self, implementation: &'static str, units: u32, case: Box<dyn Case>) {
        self.entries.push(Entry {
            implementation,
            units,
            case,
        });
    }
}
