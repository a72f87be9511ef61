//! Batches of classical signatures.

use crate::common::{Client, bytes};
use crate::worker::WORKER;

#[test]
fn one_bad_signature_of_a_batch_is_told_apart() {
    let mut worker = Client::start(WORKER, &[]);
    let variant = "dalek-ed25519:native:compact";
    let inputs: Vec<_> = (0..6)
        .map(|input| {
            vec![
                ("seed", bytes(5, input, 32)),
                ("message", bytes(9, input, 20)),
                ("context", "-".to_string()),
            ]
        })
        .collect();
    let job = worker.prepare(variant, "Ed25519", "sign", &inputs);
    let signatures = worker.answer(job);
    let mut signed = inputs.clone();
    for (input, signature) in signed.iter_mut().zip(&signatures) {
        input.push(("signature", signature.clone()));
    }
    for (bad, short) in [(None, false), (Some(4), false), (Some(0), true)] {
        let mut given = signed.clone();
        if let Some(place) = bad {
            let field = given[place].last_mut().expect("the signature");
            field.1 = if short {
                "00".into()
            } else {
                signatures[1].clone()
            };
        }
        let job = worker.prepare(variant, "Ed25519", "verify", &given);
        worker.send(&format!("answer {job} batch 6\n"));
        let lines = worker.until(&format!("done {job}"));
        let expected: Vec<_> = (0..6)
            .map(|i| format!("output {i} {}", if bad == Some(i) { "00" } else { "01" }))
            .collect();
        assert_eq!(lines, expected);
    }
    assert!(worker.finish().success());
}
