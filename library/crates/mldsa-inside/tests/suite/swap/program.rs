/// Signs, sends and verifies, and stores both keys. Returns the signature and the stored keys.
pub fn run() -> Result<[Vec<u8>; 3], Box<dyn std::error::Error>> {
    let key = SigningKey::<MlDsa65>::from_seed(&[7u8; 32].into());
    let public = key.verifying_key();
    let signature = key.sign(b"message");
    public.verify(b"message", &signature)?;
    assert!(public.verify(b"another", &signature).is_err());
    assert!(key.multipart_sign(&[b"mess", b"age"]) == signature);

    let sent = signature.to_bytes();
    let received = Signature::<MlDsa65>::try_from(&sent[..])?;
    public.verify(b"message", &received)?;

    let private = key.to_pkcs8_der()?;
    let key = SigningKey::<MlDsa65>::from_pkcs8_der(private.as_bytes())?;
    assert!(key.try_sign(b"message")? == signature);
    let stored = public.to_public_key_der()?;
    let public = VerifyingKey::<MlDsa65>::from_public_key_der(stored.as_bytes())?;
    public.verify(b"message", &received)?;
    Ok([
        sent[..].to_vec(),
        private.as_bytes().to_vec(),
        stored.as_bytes().to_vec(),
    ])
}
