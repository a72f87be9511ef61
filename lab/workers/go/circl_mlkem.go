package main

import (
	"errors"

	"github.com/cloudflare/circl/kem"
	"github.com/cloudflare/circl/kem/mlkem/mlkem1024"
	"github.com/cloudflare/circl/kem/mlkem/mlkem512"
	"github.com/cloudflare/circl/kem/mlkem/mlkem768"
)

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
	return kemVariants(common, prepareCirclKem,
		"encaps and decaps unpack the key's byte string in each call, which expands A-hat; keygen ends with the "+
			"ordinary PrivateKey and the encoded public key; default garbage collector",
		"the ordinary PublicKey and PrivateKey, which cache A-hat and the vectors in NTT form; default garbage collector")
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
			return encapsulation(expanded,
				func() (kem.PublicKey, error) { return scheme.UnmarshalBinaryPublicKey(in.pk) },
				func(pk kem.PublicKey) ([]byte, []byte, error) { return scheme.EncapsulateDeterministically(pk, in.rnd) })
		}
		bytes, err := circlKemPrivateKeyBytes(scheme, in)
		if err != nil {
			return refused(err)
		}
		return decapsulation(expanded,
			func() (kem.PrivateKey, error) { return scheme.UnmarshalBinaryPrivateKey(bytes) },
			func(sk kem.PrivateKey) ([]byte, error) { return scheme.Decapsulate(sk, in.ciphertext) })
	}
}
