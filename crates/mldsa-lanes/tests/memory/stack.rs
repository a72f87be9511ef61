//! Peak stack of every operation: below the limits here, and as docs/stack.md says.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;

use crate::every_operation;
use crate::own_stack::OwnStack;
use crate::residue::ONE;
use mldsa_oracle::PARAMETER_SETS;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stack.md");
/// Rewrites the tables of docs/stack.md for the build that runs.
const WRITE: &str = "MLDSA_WRITE_STACK";

/// KiB that no operation passes in an optimised build, by how its name starts: the first that fits.
const LIMITS: [(&str, usize); 1] = [("", 200)];

/// KiB by set, operation (in the order of the list) and backend.
type Table = BTreeMap<(&'static str, usize, String), BTreeMap<String, usize>>;

/// Whether this build is optimised: an array that nobody uses takes no stack.
fn optimised(stack: &mut OwnStack) -> bool {
    let unused = 1 << 16;
    depth(stack, &|_| drop([black_box(7u8); 1 << 16])) < unused
}

fn depth(stack: &mut OwnStack, work: &crate::own_stack::Work<'_>) -> usize {
    let mut depth = 0;
    stack.run(work, |used| depth = depth.max(used.depth()));
    depth
}

fn measured(stack: &mut OwnStack) -> Table {
    let mut table = Table::new();
    let mut order = Vec::new();
    every_operation(|p, _, backend, (name, work)| {
        let number = order.iter().position(|known| known == name).unwrap_or_else(|| {
            order.push(*name);
            order.len() - 1
        });
        let kib = depth(stack, work).div_ceil(1024);
        let row = table.entry((p.name, number, (*name).into())).or_default();
        row.insert(backend.name().into(), kib);
    });
    table
}

#[test]
fn no_operation_takes_more_stack_than_stated() {
    let _one = ONE.lock();
    let mut stack = OwnStack::new();
    println!("optimised: {}", optimised(&mut stack));
    for ((set, _, name), row) in measured(&mut stack) {
        println!("{set} | {name} | {row:?}");
    }
    panic!();
}
