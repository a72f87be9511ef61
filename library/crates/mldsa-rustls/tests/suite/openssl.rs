//! OpenSSL 3.5 or newer, by Python's pyOpenSSL (openssl.py), which `make test-rustls` installs.
//! Without it the test is skipped; MLDSA_EXPECT_OPENSSL makes that a failure. `PYTHON` names another
//! Python.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, fs};

use mldsa_rustls::mldsa_lanes::any::Set;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConnection, ServerConnection, StreamOwned};

use crate::chain::{Chain, TLS13};
use crate::handshake::Handshake;
use crate::{der, ours};

/// A Python with pyOpenSSL on an OpenSSL that has ML-DSA.
fn python() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    let python = env::var_os("PYTHON").map_or(here, PathBuf::from);
    let known = "from OpenSSL import SSL; assert SSL.OPENSSL_VERSION_NUMBER >= 0x30500000";
    let asked = Command::new(&python).args(["-c", known]).output();
    if asked.is_ok_and(|asked| asked.status.success()) {
        return Some(python);
    }
    let is_expected = env::var_os("MLDSA_EXPECT_OPENSSL").is_some();
    assert!(
        !is_expected,
        "{} has no pyOpenSSL on OpenSSL 3.5 or newer",
        python.display()
    );
    eprintln!("skipped: no pyOpenSSL on OpenSSL 3.5 or newer");
    None
}

fn peer(python: &Path, arguments: &[&str]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/openssl.py");
    let mut command = Command::new(python);
    command.arg(script).args(arguments).stdout(Stdio::piped());
    command
}

#[test]
fn both_ways_with_openssl() {
    let Some(python) = python() else { return };
    for sets in [
        [Set::MlDsa44, Set::MlDsa44],
        [Set::MlDsa65, Set::MlDsa65],
        [Set::MlDsa87, Set::MlDsa87],
        [Set::MlDsa87, Set::MlDsa44],
    ] {
        let chain = Chain::new(&sets);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let root = write("root.der", &chain.root);
        let leaf = write("leaf.der", &chain.sent[0]);
        let key = write("key.der", chain.key.secret_der());

        let mut server = peer(&python, &["server", &key, &leaf]).spawn().unwrap();
        let mut port = String::new();
        let mut printed = BufReader::new(server.stdout.take().unwrap());
        printed.read_line(&mut port).unwrap();
        let stream = TcpStream::connect(format!("127.0.0.1:{}", port.trim())).unwrap();
        let client = Arc::new(chain.client(ours(), TLS13));
        let client = ClientConnection::new(client, "localhost".try_into().unwrap()).unwrap();
        let mut text = String::new();
        StreamOwned::new(client, stream)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "hello from OpenSSL\n");
        assert!(server.wait().unwrap().success());

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let client = peer(&python, &["client", &root, &port]).spawn().unwrap();
        let server = ServerConnection::new(Arc::new(chain.server(ours()))).unwrap();
        let mut stream = StreamOwned::new(server, listener.accept().unwrap().0);
        stream.write_all(b"hello from rustls\n").unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        let client = client.wait_with_output().unwrap();
        assert!(client.status.success());
        assert_eq!(client.stdout, b"hello from rustls\n");
    }
}

#[test]
fn keys_and_certificates_of_openssl() {
    let Some(python) = python() else { return };
    for set in ["44", "65", "87"] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let [key, root] = ["key", "root"].map(|name| folder.join(format!("openssl-{set}-{name}")));
        let files = [key.to_str().unwrap(), root.to_str().unwrap()];
        let made = peer(&python, &["certificate", set, files[0], files[1]]).status();
        assert!(made.unwrap().success());

        let root = CertificateDer::from(fs::read(root).unwrap());
        let chain = Chain {
            sent: vec![root.clone()],
            root,
            key: der(&fs::read(key).unwrap()),
        };
        Handshake::run(chain.client(ours(), TLS13), chain.server(ours())).assert_done();
    }
}
