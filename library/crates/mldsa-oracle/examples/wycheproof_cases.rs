//! Wycheproof's cases of verification as lines, for implementations that are no Rust: set, number, public
//! key, message, context, signature, each in hexadecimal or `-`, and whether it is valid.

use wycheproof::TestResult;
use wycheproof::mldsa_verify::{TestName, TestSet};

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() {
    let sets = [
        ("ML-DSA-44", TestName::MlDsa44Verify),
        ("ML-DSA-65", TestName::MlDsa65Verify),
        ("ML-DSA-87", TestName::MlDsa87Verify),
    ];
    for (name, file) in sets {
        let set = TestSet::load(file).expect("the file is part of the crate");
        for group in &set.test_groups {
            for test in &group.tests {
                let context = test.ctx.as_ref().map_or(&[][..], |context| context);
                println!(
                    "{name} {} {} {} {} {} {}",
                    test.tc_id,
                    hex(&group.pubkey),
                    hex(&test.msg),
                    hex(context),
                    hex(&test.sig),
                    test.result == TestResult::Valid
                );
            }
        }
    }
}
