//! Keys, signatures and encodings, one at a time.

use crate::common::{Message, Stream, forge, prehash, subjects_of};
use crate::peers::peers;
use crate::set;
use mldsa_lanes::pkcs8::{
    DecodePrivateKey, DecodePublicKey, Document, EncodePrivateKey, EncodePublicKey, LineEnding,
};
use mldsa_lanes::{
    Error, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey,
    VerifyingKey, hazmat, pem,
};
use mldsa_oracle as oracle;
use mldsa_oracle::PreHash;

/// A message of any kind with a context that is allowed.
pub fn message(stream: &mut Stream) -> Message {
    let kind = stream.below(6);
    let hash = PreHash::ALL[stream.below(PreHash::ALL.len())];
    // Short ones, and around the end of a SHAKE256 block.
    let length = [stream.below(200), stream.below(2000), 136 * stream.below(4)][stream.below(3)];
    let context = [0, stream.below(20), 255][stream.below(3)];
    let (message, context) = (stream.bytes(length), stream.bytes(context));
    match kind {
        0 => Message::of_mu(stream.array()),
        1 => Message::PreHash {
            hash,
            message,
            context,
        },
        2 => {
            let digest = hash.digest(&message);
            Message::Digest {
                hash,
                digest,
                message,
                context,
            }
        }
        _ => Message::Pure { message, context },
    }
}

/// The private keys that are read are those whose s1 and s2 are in range and whose t0 and tr follow
/// from them; public keys and signatures are read by their length.
pub fn decode(data: &[u8]) {
    let mut stream = Stream::after(data);
    let p = set(&mut stream);
    let mut sk = match stream.below(3) {
        0 => stream.bytes(p.sk_bytes()),
        _ => oracle::keygen(p, &stream.array()).1,
    };
    for _ in 0..stream.below(3) {
        let at = [stream.below(128), stream.below(sk.len())][stream.below(2)];
        sk[at] ^= 1 << stream.below(8);
    }
    let key = oracle::sk_decode(p, &sk);
    let small = key
        .s1
        .iter()
        .chain(&key.s2)
        .flatten()
        .all(|c| c.abs() <= p.eta);
    let rho: [u8; 32] = key.rho.as_slice().try_into().unwrap();
    let (mut written, pk) = forge::key(p, &rho, key.s1, key.s2);
    written[32..64].copy_from_slice(&key.key);
    let expected = (small && written == sk).then_some(pk);
    match p.name {
        "ML-DSA-44" => der::<MlDsa44>(&mut stream),
        "ML-DSA-65" => der::<MlDsa65>(&mut stream),
        _ => der::<MlDsa87>(&mut stream),
    }

    let length = [stream.below(64), p.pk_bytes(), p.sig_bytes(), p.sk_bytes()][stream.below(4)];
    let length = length + stream.below(3) - 1.min(length);
    let any = stream.bytes(length);
    for subject in subjects_of(p) {
        let label = subject.label();
        match (subject.import(&sk), &expected) {
            (Ok(key), Some(pk)) => assert_eq!(key.public, *pk, "{label}"),
            (Err(Error::InvalidSigningKey(_)), None) => {}
            (read, _) => panic!("{label}: {:?} and not {}", read.err(), expected.is_some()),
        }
        let actual = any.len();
        let read = subject.import(&any).err();
        assert!(
            read.is_some()
                && (actual == p.sk_bytes())
                    == !matches!(read, Some(Error::SigningKeyLength { .. }))
        );
        assert_eq!(
            subject.verifier(&any).is_ok(),
            actual == p.pk_bytes(),
            "{label}"
        );
        let verifier = subject.verifier(&vec![7; p.pk_bytes()]).unwrap();
        let verdict = verifier.verify(&Input::Mu(&hazmat::external_mu([0; 64])), &any);
        let expected = if actual == p.sig_bytes() {
            Error::InvalidSignature
        } else {
            Error::SignatureLength {
                expected: p.sig_bytes(),
                actual,
            }
        };
        assert_eq!(verdict, Err(expected), "{label}");
    }
    pem(&mut stream);
}

/// PKCS#8 and SubjectPublicKeyInfo: what is written is read as the same key, and what is read of bent
/// bytes is a key that can be written and read again, a public one as the same bytes.
fn der<P: ParameterSet>(stream: &mut Stream) {
    let key = SigningKey::<P>::from_seed(&stream.array());
    let forms = [
        PrivateKeyForm::Seed,
        PrivateKeyForm::ExpandedKey,
        PrivateKeyForm::Both,
    ];
    let private = key.to_pkcs8_der_as(forms[stream.below(3)]).unwrap();
    let public = key.verifying_key().to_public_key_der().unwrap();
    let [mut private, mut public] = [private.as_bytes(), public.as_bytes()].map(<[u8]>::to_vec);
    let bent = stream.below(2) == 0;
    for bytes in [&mut private, &mut public].into_iter().filter(|_| bent) {
        // Most of it is the key: half of the changes are before it.
        let at = [stream.below(40), stream.below(bytes.len())][stream.below(2)];
        match stream.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, stream.below(256) as u8),
            2 => drop(bytes.remove(at)),
            _ => bytes[at] ^= 1 << stream.below(8),
        }
    }
    match SigningKey::<P>::from_pkcs8_der(&private) {
        Ok(read) => {
            assert!(
                bent || read.encoded_bytes() == key.encoded_bytes(),
                "{}",
                P::NAME
            );
            let written = read.to_pkcs8_der().unwrap();
            let again = SigningKey::<P>::from_pkcs8_der(written.as_bytes()).unwrap();
            assert!(again.encoded_bytes() == read.encoded_bytes(), "{}", P::NAME);
        }
        Err(error) => assert!(bent, "{}: {error}", P::NAME),
    }
    match VerifyingKey::<P>::from_public_key_der(&public) {
        Ok(read) => {
            assert!(bent || read == *key.verifying_key(), "{}", P::NAME);
            assert_eq!(
                read.to_public_key_der().unwrap().as_bytes(),
                public,
                "{}",
                P::NAME
            );
        }
        Err(error) => assert!(bent, "{}: {error}", P::NAME),
    }
}

/// A block in any layout, with anything around it, is read as its DER; a bent file is read without a panic.
fn pem(stream: &mut Stream) {
    let label = ["PRIVATE KEY", "PUBLIC KEY"][stream.below(2)];
    let content = 256 + stream.below(5000);
    let mut der = vec![0x30, 0x82, (content >> 8) as u8, content as u8];
    der.extend(stream.bytes(content));
    let document = Document::try_from(&der[..]).unwrap();
    let text = document.to_pem(label, LineEnding::LF).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [begin, body @ .., end] = &lines[..] else {
        panic!("{text}");
    };
    let ends = ["\n", "\r\n", "\r", " \t\n", "\n\n\x0c  ", " "];
    let eol = ends[stream.below(ends.len())];
    let (body, columns) = (body.concat(), 1 + stream.below(100));
    let around = |stream: &mut Stream| {
        let text = stream.below(50);
        let text = stream.bytes(text);
        let block: &[u8] = b"\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        [&text[..], [block, b"\n", b""][stream.below(3)]].concat()
    };
    let mut file = around(stream);
    file.extend([begin, eol].concat().bytes());
    for line in body.as_bytes().chunks(columns) {
        file.extend([line, eol.as_bytes()].concat());
    }
    file.extend(end.bytes());
    file.extend(around(stream));
    let block = pem::find_block(&file, label).expect("a key in its PEM");
    let read = block.decode().expect("DER in its PEM");
    assert!(read.as_bytes() == der, "{label}");

    let at = stream.below(file.len());
    match stream.below(4) {
        0 => file.truncate(at),
        1 => file.insert(at, b"-\n =:A"[stream.below(6)]),
        2 => drop(file.remove(at)),
        _ => file[at] ^= 1 << stream.below(8),
    }
    for block in pem::blocks(&file).unwrap().flatten() {
        assert!(block.line() >= 1 && block.label().is_ascii(), "{block:?}");
        let _ = block.decode();
    }
}

/// Keys and signatures of every subject are those of the peers, and each accepts the others'.
pub fn agree(data: &[u8]) {
    let mut stream = Stream::after(data);
    let p = set(&mut stream);
    let xi = stream.array();
    let message = message(&mut stream);
    let rnd = if stream.below(2) == 0 {
        [0; 32]
    } else {
        stream.array()
    };
    let peers = peers(p);
    let (pk, sk) = peers[0].keygen(&xi);
    assert!(
        peers[1].keygen(&xi) == (pk.clone(), sk.clone()),
        "the peers' keys differ"
    );
    let subjects = subjects_of(p);
    let subject = subjects[stream.below(subjects.len())];
    let key = subject.key(&xi);
    assert!(key.public == pk && key.secret == sk, "{}", subject.label());
    let signature = key.signer.sign(&message.input(), &rnd).unwrap();
    for peer in &peers {
        let theirs = peer.sign(&sk, &message, &rnd);
        assert!(
            theirs.is_none_or(|theirs| theirs == signature),
            "{}",
            subject.label()
        );
        let verdict = peer.verify(&pk, &message, &signature);
        assert_ne!(verdict, Some(false), "{}", subject.label());
    }
    assert!(
        subject.accepts(&pk, &message.input(), &signature),
        "{}",
        subject.label()
    );
}

/// Every backend and form against the portable backend with a compact key.
pub fn backends_agree(data: &[u8]) {
    let mut stream = Stream::after(data);
    let p = set(&mut stream);
    let xi = stream.array();
    let message = message(&mut stream);
    let (rnd, max) = (stream.array(), stream.below(4) as u32);
    let bent = stream.below(p.sig_bytes());
    let cuts = [stream.below(300), stream.below(300)];
    let mut subjects = subjects_of(p).into_iter();
    let subject = subjects.find(|s| s.backend.name() == "portable").unwrap();
    let input = message.input();
    let all = |subject: &crate::common::Subject| {
        let key = subject.key(&xi);
        let traced = key.signer.traced(&input, &rnd).unwrap();
        let verifier = subject.verifier(&key.public).unwrap();
        let mut altered = traced.signature.clone();
        altered[bent] ^= 1;
        let verdicts = [&traced.signature, &altered].map(|s| verifier.verify(&input, s));
        assert_eq!(
            key.signer.sign(&input, &rnd).as_ref(),
            Ok(&traced.signature)
        );
        let bounded = key.signer.bounded(&input, &rnd, max);
        let again = subject.import(&key.secret).unwrap().public == key.public;
        (
            key.public,
            key.secret,
            traced,
            verdicts,
            bounded,
            again,
            verifier.tr(),
        )
    };
    let expected = all(&subject);
    assert_eq!(expected.3[0], Ok(()));
    for subject in subjects {
        assert!(all(&subject) == expected, "{}", subject.label());
        pieces(&message, &subject, &xi, cuts);
    }
}

/// μ of a message in pieces.
fn pieces(message: &Message, subject: &crate::common::Subject, xi: &[u8; 32], cuts: [usize; 2]) {
    let Ok((text, context, hash)) = message.parts() else {
        return;
    };
    macro_rules! mu {
        ($set:ident) => {{
            use mldsa_lanes::$set::SigningKey;
            let key = SigningKey::from_seed_on(subject.backend, xi);
            let context = crate::common::context(context);
            let mut hasher = match hash {
                None => key.mu_hasher(context),
                // A hash function too weak for the set asks for care.
                Some(hash) => {
                    (key.prehash_mu_hasher(prehash(hash), context)).unwrap_or_else(|_| {
                        hazmat::prehash_mu_hasher(&key.tr(), prehash(hash), context)
                    })
                }
            };
            let first = cuts[0].min(text.len());
            let second = (first + cuts[1]).min(text.len());
            for piece in [&text[..first], &text[first..second], &text[second..]] {
                hasher.update(piece);
            }
            (hasher.finish(), key.tr())
        }};
    }
    let (mu, tr) = match subject.p.name {
        "ML-DSA-44" => mu!(mldsa44),
        "ML-DSA-65" => mu!(mldsa65),
        _ => mu!(mldsa87),
    };
    assert_eq!(*mu.as_bytes(), message.mu(&tr), "{}", subject.label());
}
