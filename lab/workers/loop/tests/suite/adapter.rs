//! Jobs, their timing, and the text of outputs.

use std::hint::black_box;

use mldsa_worker_loop::adapter::{Output, attempt_word, describe, job};
use mldsa_worker_loop::timing::Start;

#[test]
fn attempt_words_name_every_failing_check_in_the_standards_order() {
    assert_eq!(attempt_word(0, [255; 4]), "ok");
    assert_eq!(attempt_word(0b0011, [0, 2, 255, 255]), "z0r2");
    assert_eq!(attempt_word(0b1000, [255, 255, 255, 3]), "h3");
    assert_eq!(attempt_word(0b1101, [1, 255, 0, 4]), "z1c0h4");
}

#[test]
fn a_job_performs_exactly_the_calls_asked_for_and_returns_the_last_output() {
    let mut calls = 0u64;
    let mut counter = job(
        move || {
            calls += 1;
            Ok::<_, ()>(calls)
        },
        |n| Output::bytes(n.to_be_bytes()),
    )
    .unwrap();
    let (_, output) = counter.measure(5);
    assert_eq!(output, Ok(Output::bytes(5u64.to_be_bytes())));
    assert_eq!(counter.answer(), Ok(Output::bytes(6u64.to_be_bytes())));
    let (_, output) = counter.measure(1);
    assert_eq!(output, Ok(Output::bytes(7u64.to_be_bytes())));
}

#[test]
fn an_implementations_error_is_text() {
    let mut failing = job(|| Err::<(), _>("no"), |()| Output::Verdict(true)).unwrap();
    assert_eq!(failing.answer(), Err("no".into()));
    assert_eq!(failing.measure(3).1, Err("no".into()));
    assert_eq!(describe(&()), "the implementation returned an error");
}

#[test]
fn both_clocks_advance_with_work() {
    let mut sum = 0u64;
    loop {
        let start = Start::now();
        for _ in 0..1_000_000 {
            sum = black_box(sum + 1);
        }
        let ticks = start.elapsed();
        // The thread clock's resolution may be coarse.
        if ticks.cpu > 0 && ticks.wall > 0 {
            break;
        }
    }
}
