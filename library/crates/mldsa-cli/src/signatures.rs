//! Signing and verifying files.

use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding};
use mldsa_lanes::any::batch::{AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith, parallel};
use mldsa_lanes::any::{AnySignature, AnySigningKey, AnyVerifyingKey, Set};
use mldsa_lanes::{
    Context, Error, Input, Mu, MuHasher, ParameterSet, PreHash, SignOptions, Signature, SigningKey,
    SysRng, VerifyingKey, hardened,
};

use crate::arguments::{Mode, Sign, Verify};
use crate::collisions;
use crate::failure::{Failure, shown};
use crate::files::{self, Access, Target};
use crate::keys;
use crate::streams::is_stream;

/// Characters of a line of base64.
const LINE: usize = 76;

/// Sign each file. No signature is written if one file cannot be read.
pub fn sign(options: &Sign) -> Result<(), Failure> {
    if options.output.is_some() && options.files.len() > 1 {
        return Err(Failure::new(
            "--output",
            "one name for several files",
            "leave it out: each FILE gets FILE.sig",
        ));
    }
    let paths: Vec<PathBuf> = match &options.output {
        Some(path) => vec![path.clone()],
        None => options
            .files
            .iter()
            .map(|file| signature_path(file))
            .collect(),
    };
    let keys = [&options.key].into_iter().chain(&options.password.file);
    let inputs = options.files.iter().chain(keys);
    collisions::refuse(
        inputs.map(PathBuf::as_path),
        paths.iter().map(PathBuf::as_path),
    )?;
    let target = |path: &PathBuf| {
        let target = Target::plan(path, options.force)?;
        if target.is_terminal() && !options.base64 {
            return Err(Failure::new(
                "standard output",
                "a terminal, which cannot show raw bytes",
                "add --base64 or -o SIG",
            ));
        }
        Ok(target)
    };
    let targets: Vec<Target> = paths.iter().map(target).collect::<Result<_, _>>()?;
    let key = keys::read_private(&options.key, &options.password)?;
    let context = options.mode.context_bytes()?;
    let new_hasher = hasher(
        &options.mode,
        &context,
        |context| key.mu_hasher(context),
        |hash, context| key.prehash_mu_hasher(hash, context),
    )?;
    let hash = |file: &PathBuf| files::hash(file, new_hasher.clone());
    let mus: Vec<Mu> = options.files.iter().map(hash).collect::<Result<_, _>>()?;
    let signatures = if options.mode.hardened {
        sign_hardened(&key, &mus, options.deterministic)
    } else {
        sign_batch(&key, &mus, options.deterministic)
    };
    let signatures = signatures.map_err(|problem| {
        Failure::new(
            shown(&options.key),
            format_args!("signing failed: {problem}"),
            "try again",
        )
    })?;
    for (target, signature) in targets.iter().zip(&signatures) {
        if options.base64 {
            target.write(base64(signature.as_ref()).as_bytes(), Access::Umask)?;
        } else {
            target.write(signature.as_ref(), Access::Umask)?;
        }
    }
    Ok(())
}

/// FILE.sig, or `-` for a stream.
fn signature_path(file: &Path) -> PathBuf {
    if is_stream(file) {
        return "-".into();
    }
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// The hasher of μ that `mode` asks for.
fn hasher(
    mode: &Mode,
    context: &[u8],
    pure: impl FnOnce(Context<'_>) -> MuHasher,
    prehash: impl FnOnce(PreHash, Context<'_>) -> Result<MuHasher, Error>,
) -> Result<MuHasher, Failure> {
    let context =
        Context::new(context).map_err(|error| Failure::new("--context", error, "shorten it"))?;
    match mode.prehash {
        None => Ok(pure(context)),
        Some(hash) => prehash(hash, context).map_err(|error| {
            Failure::new(
                "--prehash",
                error,
                "take SHA2-512, SHA3-512 or SHAKE256, which every set allows",
            )
        }),
    }
}

fn sign_batch(
    key: &AnySigningKey,
    mus: &[Mu],
    deterministic: bool,
) -> Result<Vec<AnySignature>, hardened::Error> {
    let job = |mu| AnySignJob {
        key: AnySignWith::Compact(key),
        input: Input::Mu(mu),
    };
    let jobs: Vec<_> = mus.iter().map(job).collect();
    let signed = parallel::sign(&jobs, sign_options(deterministic, &mut SysRng))?;
    Ok(signed.into_iter().collect::<Result<_, _>>()?)
}

fn sign_options(deterministic: bool, rng: &mut SysRng) -> SignOptions<'_> {
    if deterministic {
        SignOptions::deterministic()
    } else {
        SignOptions::hedged(rng)
    }
}

fn sign_hardened(
    key: &AnySigningKey,
    mus: &[Mu],
    deterministic: bool,
) -> Result<Vec<AnySignature>, hardened::Error> {
    match key {
        AnySigningKey::MlDsa44(key) => sign_hardened_in(key, mus, deterministic),
        AnySigningKey::MlDsa65(key) => sign_hardened_in(key, mus, deterministic),
        AnySigningKey::MlDsa87(key) => sign_hardened_in(key, mus, deterministic),
    }
}

fn sign_hardened_in<P: ParameterSet>(
    key: &SigningKey<P>,
    mus: &[Mu],
    deterministic: bool,
) -> Result<Vec<AnySignature>, hardened::Error>
where
    AnySignature: From<Signature<P>>,
{
    let key = hardened::SigningKey::new(key)?;
    let public = key.verifying_key()?.clone();
    let sign = |mu| {
        let mut signature = Signature::default();
        let options = &mut SysRng;
        let proof = key.sign_into(mu, sign_options(deterministic, options), &mut signature)?;
        if proof.holds(&public, mu, &signature) {
            Ok(signature.into())
        } else {
            Err(hardened::Error::Disagreement)
        }
    };
    mus.iter().map(sign).collect()
}

fn base64(bytes: &[u8]) -> String {
    let encoded = Base64::encode_string(bytes);
    let mut text = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (at, character) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push('\n');
    text
}

/// Decode a signature file of `set`: raw bytes, or base64 with any line breaks. The error says what
/// the file holds instead.
fn decode(set: Set, bytes: &[u8]) -> Result<AnySignature, String> {
    let decoded = from_base64(bytes);
    let bytes = decoded.as_deref().unwrap_or(bytes);
    AnySignature::from_bytes(set, bytes).map_err(|error| error.to_string())
}

/// Decode base64. `None` if it is something else.
pub fn from_base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    Base64::decode_vec(std::str::from_utf8(&text).ok()?).ok()
}

/// A file and its signature, as far as they could be read.
struct Claim {
    mu: Mu,
    /// The reason where the signature file holds no signature of this set.
    signature: Result<AnySignature, String>,
}

/// Verify each file. Returns whether all signatures are valid.
///
/// # Errors
/// Every file that could not be read; the others have been judged.
pub fn verify(options: &Verify) -> Result<bool, Vec<Failure>> {
    let Verify { public, files, .. } = options;
    let stream = files.iter().find(|file| is_stream(file));
    let signatures = match (options.signatures.len(), stream) {
        (0, Some(stream)) => {
            return Err(Failure::new(
                shown(stream),
                "its signature has no file name",
                "name the signature with -s SIG",
            )
            .into());
        }
        (0, None) => files.iter().map(|file| signature_path(file)).collect(),
        (count, _) if count == files.len() => options.signatures.clone(),
        (count, _) => {
            return Err(Failure::new(
                "--signature",
                format_args!("{count} signatures for {} files", files.len()),
                "give one for each FILE, in the same order",
            )
            .into());
        }
    };
    let paths = files.iter().chain(&signatures).chain([public]);
    let report = (!options.quiet).then_some(Path::new("-"));
    collisions::refuse(paths.map(PathBuf::as_path), report)?;
    let key = keys::read_public(public)?;
    let context = options.mode.context_bytes()?;
    let new_hasher = hasher(
        &options.mode,
        &context,
        |context| key.mu_hasher(context),
        |hash, context| key.prehash_mu_hasher(hash, context),
    )?;
    let read = |(file, signature): (&PathBuf, &PathBuf)| {
        let bytes = files::read_small(signature)?;
        let signature = match bytes {
            Some(bytes) => decode(key.set(), &bytes),
            None => Err("more than 64 KiB, which no signature has".into()),
        };
        let mu = files::hash(file, new_hasher.clone())?;
        Ok(Claim { mu, signature })
    };
    let claims: Vec<Result<Claim, Failure>> = files.iter().zip(&signatures).map(read).collect();
    let readable: Vec<(&Mu, &AnySignature)> = claims
        .iter()
        .filter_map(|claim| {
            let claim = claim.as_ref().ok()?;
            Some((&claim.mu, claim.signature.as_ref().ok()?))
        })
        .collect();
    let verdicts = if options.mode.hardened {
        verify_hardened(&key, &readable)
    } else {
        verify_batch(&key, &readable)
    };
    let mut verdicts = verdicts.into_iter();
    let mut all_valid = true;
    let mut unread = Vec::new();
    let mut report = String::new();
    for ((file, signature), claim) in files.iter().zip(&signatures).zip(claims) {
        let verdict = match claim {
            Err(failure) => {
                unread.push(failure);
                continue;
            }
            Ok(Claim {
                signature: Err(reason),
                ..
            }) => Err(reason),
            // A verdict for each readable claim, in their order.
            Ok(_) => verdicts.next().unwrap_or_else(|| Err("not judged".into())),
        };
        let file = shown(file);
        match verdict {
            Ok(()) => report.push_str(&format!("{file}: valid\n")),
            Err(reason) => {
                all_valid = false;
                let signature = shown(signature);
                report.push_str(&format!("{file}: NOT VALID ({signature}: {reason})\n"));
            }
        }
    }
    if !options.quiet {
        // The exit code is the answer: a reader that has gone away does not change it.
        let _ = files::print(report);
    }
    if unread.is_empty() {
        Ok(all_valid)
    } else {
        Err(unread)
    }
}

fn verify_batch(key: &AnyVerifyingKey, claims: &[(&Mu, &AnySignature)]) -> Vec<Result<(), String>> {
    let jobs: Vec<_> = claims
        .iter()
        .map(|&(mu, signature)| AnyVerifyJob {
            key: AnyVerifyWith::Compact(key),
            input: Input::Mu(mu),
            signature,
        })
        .collect();
    let verdicts = parallel::verify(&jobs).into_iter();
    verdicts
        .map(|verdict| verdict.map_err(|error| error.to_string()))
        .collect()
}

fn verify_hardened(
    key: &AnyVerifyingKey,
    claims: &[(&Mu, &AnySignature)],
) -> Vec<Result<(), String>> {
    let verify = |(mu, signature): &(&Mu, &AnySignature)| {
        let verdict = match (key, signature) {
            (AnyVerifyingKey::MlDsa44(key), AnySignature::MlDsa44(signature)) => {
                verify_hardened_in(key, mu, signature)
            }
            (AnyVerifyingKey::MlDsa65(key), AnySignature::MlDsa65(signature)) => {
                verify_hardened_in(key, mu, signature)
            }
            (AnyVerifyingKey::MlDsa87(key), AnySignature::MlDsa87(signature)) => {
                verify_hardened_in(key, mu, signature)
            }
            _ => Err(Error::InvalidSignature.into()),
        };
        verdict.map_err(|error| error.to_string())
    };
    claims.iter().map(verify).collect()
}

fn verify_hardened_in<P: ParameterSet>(
    key: &VerifyingKey<P>,
    mu: &Mu,
    signature: &Signature<P>,
) -> Result<(), hardened::Error> {
    let proof = hardened::VerifyingKey::new(key)?.verify_signature(mu, signature)?;
    if proof.holds(key, mu, signature) {
        Ok(())
    } else {
        Err(hardened::Error::Disagreement)
    }
}
