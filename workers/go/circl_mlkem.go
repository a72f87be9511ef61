package main

import (
	"errors"

	"github.com/cloudflare/circl/kem"
	"github.com/cloudflare/circl/kem/mlkem/mlkem1024"
	"github.com/cloudflare/circl/kem/mlkem/mlkem512"
	"github.com/cloudflare/circl/kem/mlkem/mlkem768"
)

var kemOperations = []string{"keygen", "encaps", "decaps"}

var circlKemSchemes = map[string]kem.Scheme{
	"ML-KEM-512":  mlkem512.Scheme(),
	"ML-KEM-768":  mlkem768.Scheme(),
	"ML-KEM-1024": mlkem1024.Scheme(),
}

// circlKemVariants are circl's ML-KEM. As with its ML-DSA, both key types cache Â.
func circlKemVariants() []variant {
	common := variant{
		implementation: "circl-ml-kem",
		version:        moduleVersion("github.com/cloudflare/circl"),
		backend:        circlBackend(),
		family:         "ml-kem",
		sets:           []string{"ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"},
		rnd:            "given",
		context:        "no",
		privateKeys:    "seed sk",
	}
	compact, expanded := common, common
	compact.key = "compact"
	compact.operations = kemOperations
	compact.prepare = prepareCirclKem(false)
	compact.note = "encaps and decaps unpack the key's byte string in each call, which expands A-hat; keygen ends with the " +
		"ordinary PrivateKey and the encoded public key; default garbage collector"
	expanded.key = "expanded"
	expanded.operations = []string{"encaps", "decaps"}
	expanded.prepare = prepareCirclKem(true)
	expanded.note = "the ordinary PublicKey and PrivateKey, which cache A-hat and the vectors in NTT form; default garbage collector"
	return []variant{compact, expanded}
}

// circlKemPrivateKeyBytes is the encoded private key, from whichever form was given.
func circlKemPrivateKeyBytes(scheme kem.Scheme, in input) ([]byte, error) {
	switch {
	case in.sk != nil:
		return in.sk, nil
	case in.seed == nil:
		return nil, errors.New("no private key was given")
	case len(in.seed) != scheme.SeedSize():
		return nil, kem.ErrSeedSize
	}
	_, sk := scheme.DeriveKeyPair(in.seed)
	return sk.MarshalBinary()
}

// prepareCirclKem makes the key object once, before the clock, where the key is expanded.
func prepareCirclKem(expanded bool) func(set, name string, in input) operation {
	return func(set, name string, in input) operation {
		scheme := circlKemSchemes[set]
		switch name {
		case "keygen":
			if len(in.seed) != scheme.SeedSize() {
				return refused(kem.ErrSeedSize)
			}
			var last kem.PrivateKey
			return operation{
				run: func() ([]byte, error) {
					pk, sk := scheme.DeriveKeyPair(in.seed)
					last = sk
					return pk.MarshalBinary()
				},
				privateKey: func() []byte {
					bytes, _ := last.MarshalBinary() // circl's never gives an error
					return bytes
				},
			}
		case "encaps":
			key, err := prepared(expanded, func() (kem.PublicKey, error) { return scheme.UnmarshalBinaryPublicKey(in.pk) })
			if err != nil {
				return refused(err)
			}
			var ciphertext, secret []byte
			return operation{
				run: func() ([]byte, error) {
					pk, err := key()
					if err == nil {
						ciphertext, secret, err = scheme.EncapsulateDeterministically(pk, in.rnd)
					}
					return nil, err
				},
				joined: func() []byte { return append(append([]byte{}, ciphertext...), secret...) },
			}
		}
		bytes, err := circlKemPrivateKeyBytes(scheme, in)
		if err != nil {
			return refused(err)
		}
		key, err := prepared(expanded, func() (kem.PrivateKey, error) { return scheme.UnmarshalBinaryPrivateKey(bytes) })
		if err != nil {
			return refused(err)
		}
		return operation{run: func() ([]byte, error) {
			sk, err := key()
			if err != nil {
				return nil, err
			}
			return scheme.Decapsulate(sk, in.ciphertext)
		}}
	}
}

// prepared gives the key object: one that was made already where the key is expanded, else a new one in
// each call.
func prepared[K any](expanded bool, make func() (K, error)) (func() (K, error), error) {
	if !expanded {
		return make, nil
	}
	key, err := make()
	return func() (K, error) { return key, nil }, err
}
