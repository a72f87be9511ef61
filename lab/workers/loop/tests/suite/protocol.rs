//! Requests as text: what is read, what is refused, and that a refusal costs one request only.

use std::io::{BufReader, Cursor, Read};

use mldsa_worker_loop::protocol::{
    Fault, Form, MAX_LINE_BYTES, Operation, Prepare, Reader, Request, Runs, format_hex, one_line,
    parse_hex,
};

fn read_all(text: impl AsRef<[u8]>) -> Vec<Result<Request, String>> {
    // A small buffer, so that lines span reads.
    let mut reader = Reader::new(BufReader::with_capacity(16, text.as_ref()));
    let mut found = Vec::new();
    while let Some(request) = reader.next_request().expect("reading memory") {
        found.push(request.map_err(|fault| fault.to_string()));
    }
    found
}

fn only_fault(text: impl AsRef<[u8]>) -> String {
    match read_all(text).as_slice() {
        [Err(fault)] => fault.clone(),
        other => panic!("expected one fault, got {other:?}"),
    }
}

#[test]
fn single_line_requests_are_read() {
    let found = read_all("hello 1\nanswer 7\nmeasure 7 3 1 0\nforget 18446744073709551615\nquit\n");
    let wanted = vec![
        Ok(Request::Hello { version: 1 }),
        Ok(Request::Answer {
            job: 7,
            batch: None,
        }),
        Ok(Request::Measure {
            job: 7,
            passes: 3,
            calls: 1,
            warmup: 0,
            runs: None,
        }),
        Ok(Request::Forget { job: u64::MAX }),
        Ok(Request::Quit),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn runs_are_asked_for_at_the_end_of_a_request() {
    let found = read_all("answer 7 batch 32\nmeasure 7 3 1 0 loop 8 25 2\n");
    let runs = Runs {
        form: Form::Loop,
        size: 8,
        count: 25,
        threads: 2,
    };
    let wanted = vec![
        Ok(Request::Answer {
            job: 7,
            batch: Some(32),
        }),
        Ok(Request::Measure {
            job: 7,
            passes: 3,
            calls: 1,
            warmup: 0,
            runs: Some(runs),
        }),
    ];
    assert_eq!(found, wanted);
    for (text, rule) in [
        ("answer 7 batch 0\n", "line 1: SIZE must be at least 1"),
        (
            "answer 7 loop 8\n",
            "line 1: `answer` takes 1 numbers, got 3",
        ),
        (
            "answer 7 batch\n",
            "line 1: `answer` takes 1 numbers, got 2",
        ),
        (
            "answer batch 8\n",
            "line 1: `answer` takes 1 numbers, got 0",
        ),
        (
            "measure 7 1 1 0 loop 8 0 1\n",
            "line 1: COUNT must be at least 1",
        ),
        (
            "measure 7 1 1 0 batch 8 1 0\n",
            "line 1: THREADS must be at least 1",
        ),
        (
            "measure 7 1 1 0 loop x 1 1\n",
            "line 1: expected a decimal number",
        ),
        (
            "measure 7 1 1 0 loop 8 1\n",
            "line 1: `measure` takes 4 numbers, got 7",
        ),
        (
            "measure 7 1 1 0 heap 8 1 1\n",
            "line 1: `measure` takes 4 numbers, got 8",
        ),
    ] {
        let fault = only_fault(text);
        assert!(fault.starts_with(rule), "{text:?}: {fault}");
    }
}

#[test]
fn a_prepare_is_read_through_its_end() {
    let text = "prepare 7\nvariant a:b:compact\nset ML-DSA-65\noperation sign\n\
                input 4\nsk 00ff\nmessage -\ninput 2\nend\nquit\n";
    let found = read_all(text);
    let [Ok(Request::Prepare(prepare)), Ok(Request::Quit)] = found.as_slice() else {
        panic!("{found:?}");
    };
    let Prepare {
        job,
        variant,
        set,
        operation,
        inputs,
    } = prepare;
    assert_eq!(
        (*job, variant.as_str(), set.as_str()),
        (7, "a:b:compact", "ML-DSA-65")
    );
    assert_eq!(*operation, Operation::Sign);
    assert_eq!(
        inputs
            .iter()
            .map(|input| (input.id, input.line))
            .collect::<Vec<_>>(),
        [(4, 5), (2, 8)]
    );
    assert_eq!(inputs[0].fields.sk().unwrap(), [0x00, 0xff]);
    assert_eq!(*inputs[0].fields.message().unwrap(), []);
    assert_eq!(inputs[0].fields.pk(), Err("field `pk` is missing".into()));
    assert!(inputs[0].fields.seed().is_err() && inputs[1].fields.sk().is_err());
}

#[test]
fn malformed_requests_name_the_line_and_the_rule() {
    for (text, rule) in [
        ("\n", "line 1: unknown request ``"),
        ("bye\n", "line 1: unknown request `bye`"),
        ("Hello 1\n", "line 1: unknown request `Hello`"),
        (
            "hello 1\r\n",
            "line 1: expected a decimal number below 2^64, got `1\\r`",
        ),
        ("hello\n", "line 1: `hello` takes 1 numbers, got 0"),
        ("hello 1 2\n", "line 1: `hello` takes 1 numbers, got 2"),
        ("hello  1\n", "line 1: `hello` takes 1 numbers, got 2"),
        (
            "answer +1\n",
            "line 1: expected a decimal number below 2^64, got `+1`",
        ),
        (
            "answer -1\n",
            "line 1: expected a decimal number below 2^64, got `-1`",
        ),
        (
            "answer 1e3\n",
            "line 1: expected a decimal number below 2^64, got `1e3`",
        ),
        (
            "answer 18446744073709551616\n",
            "got `18446744073709551616`",
        ),
        ("answer \u{661}\n", "expected a decimal number"),
        (
            "measure 1 2 3\n",
            "line 1: `measure` takes 4 numbers, got 3",
        ),
        (
            "measure 1 2 0 0\n",
            "line 1: `measure` needs at least one call per sample",
        ),
        ("quit now\n", "line 1: `quit` takes 0 numbers, got 1"),
        ("input 1\n", "line 1: unknown request `input`"),
    ] {
        let fault = only_fault(text);
        assert!(fault.contains(rule), "{text:?}: {fault}");
    }
    assert_eq!(only_fault(b"hello \xff\n"), "line 1: the line is not UTF-8");
}

#[test]
fn a_malformed_prepare_is_one_fault_and_the_next_request_is_read() {
    const HEAD: &str = "variant a:b:compact\nset ML-DSA-65\noperation sign\n";
    for (body, rule) in [
        ("", "line 1: job 1 has no `operation` line"),
        (
            "variant a:b:compact\noperation sign\n",
            "line 1: job 1 has no `set` line",
        ),
        (
            "variant a\nvariant b\n",
            "line 3: misplaced or repeated `variant`",
        ),
        (
            "operation juggle\nset x\nvariant y\n",
            "line 1: unknown operation `juggle`",
        ),
        ("seed 00\n", "line 2: `seed` before the first input"),
        ("nonsense\n", "line 2: expected `key value`, got `nonsense`"),
        (
            &format!("{HEAD}input x\n"),
            "line 5: expected a decimal number",
        ),
        (
            &format!("{HEAD}input 1\ninput 1\n"),
            "line 6: input 1 is given twice",
        ),
        (
            &format!("{HEAD}input 1\nset ML-DSA-44\n"),
            "line 6: misplaced or repeated `set`",
        ),
        (
            &format!("{HEAD}input 1\ncolour 00\n"),
            "line 6: unknown field `colour`",
        ),
        (
            &format!("{HEAD}input 1\nsk 00\nsk 00\n"),
            "line 7: field `sk` is given twice",
        ),
        (
            &format!("{HEAD}input 1\nsk 0\n"),
            "line 6: sk: hexadecimal needs pairs of digits",
        ),
        (
            &format!("{HEAD}input 1\nsk 0G\n"),
            "line 6: sk: expected lower-case hexadecimal",
        ),
        (
            &format!("{HEAD}input 1\nsk AB\n"),
            "line 6: sk: expected lower-case hexadecimal",
        ),
        (
            &format!("{HEAD}input 1\nsk \n"),
            "line 6: sk: hexadecimal needs pairs of digits",
        ),
        (
            &format!("{HEAD}input 1\nsk €€\n"),
            "line 6: sk: expected lower-case hexadecimal",
        ),
    ] {
        let found = read_all(format!("prepare 1\n{body}end\nanswer 1\n"));
        let [Err(fault), Ok(Request::Answer { job: 1, .. })] = found.as_slice() else {
            panic!("{body:?}: {found:?}");
        };
        assert!(fault.contains(rule), "{body:?}: {fault}");
    }
    let found = read_all("prepare seven\nvariant a:b:compact\nend\nquit\n");
    assert!(
        matches!(found.as_slice(), [Err(_), Ok(Request::Quit)]),
        "{found:?}"
    );
    assert_eq!(
        only_fault("prepare 1\nvariant a\n"),
        "line 2: the input ended before `end`"
    );
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_a_longest_one_is_read() {
    let long = vec![b'0'; MAX_LINE_BYTES + 1];
    let found = read_all([&long[..], b"\nquit\n"].concat());
    let [Err(fault), Ok(Request::Quit)] = found.as_slice() else {
        panic!("{} requests", found.len());
    };
    assert_eq!(fault, "line 1: a line is longer than 16777216 bytes");

    // Inside a prepare the rest of the body must not be taken for requests.
    let head = b"prepare 1\nvariant a\nset b\noperation sign\ninput 1\nmessage ";
    let found = read_all([&head[..], &long[..], b"\nseed 00\nend\nquit\n"].concat());
    let [Err(fault), Ok(Request::Quit)] = found.as_slice() else {
        panic!("{} requests", found.len());
    };
    assert_eq!(fault, "line 6: a line is longer than 16777216 bytes");

    let digits = MAX_LINE_BYTES - "message ".len();
    let found = read_all([&head[..], &long[..digits], b"\nend\n"].concat());
    let [Ok(Request::Prepare(prepare))] = found.as_slice() else {
        panic!("{} requests", found.len());
    };
    assert_eq!(
        prepare.inputs[0].fields.message().unwrap().len(),
        digits / 2
    );
}

#[test]
fn a_broken_pipe_is_an_error_and_not_a_request() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let source = Cursor::new(b"answer").chain(Broken);
    assert!(Reader::new(BufReader::new(source)).next_request().is_err());
}

#[test]
fn values_are_formatted_as_they_are_read() {
    for bytes in [vec![], vec![0], (0..=255).collect::<Vec<u8>>()] {
        assert_eq!(parse_hex(&format_hex(&bytes)).unwrap(), bytes);
    }
    assert_eq!(format_hex(&[]), "-");
    assert_eq!(format_hex(&[0x0a, 0xf0]), "0af0");
    assert_eq!(
        one_line("two\nlines\tand \u{7}  more"),
        "two lines and more"
    );
    assert_eq!(one_line("\n"), "no text");
    assert_eq!(
        Fault {
            line: 3,
            rule: "a rule".into()
        }
        .to_string(),
        "line 3: a rule"
    );
}
