package main

import (
	"crypto/mlkem"
	"errors"
)

// The interfaces that the standard library's key types have in common.
type (
	standardPublic interface {
		Encapsulate() (sharedKey, ciphertext []byte)
	}
	standardPrivate interface {
		Decapsulate(ciphertext []byte) (sharedKey []byte, err error)
	}
)

// standardKem is a parameter set of crypto/mlkem.
type standardKem struct {
	keygen  func(seed []byte) (standardPrivate, []byte, error)
	public  func(pk []byte) (standardPublic, error)
	private func(seed []byte) (standardPrivate, error)
}

var standardKems = map[string]standardKem{
	"ML-KEM-768": {
		func(seed []byte) (standardPrivate, []byte, error) {
			dk, err := mlkem.NewDecapsulationKey768(seed)
			if err != nil {
				return nil, nil, err
			}
			return dk, dk.EncapsulationKey().Bytes(), nil
		},
		func(pk []byte) (standardPublic, error) { return mlkem.NewEncapsulationKey768(pk) },
		func(seed []byte) (standardPrivate, error) { return mlkem.NewDecapsulationKey768(seed) },
	},
	"ML-KEM-1024": {
		func(seed []byte) (standardPrivate, []byte, error) {
			dk, err := mlkem.NewDecapsulationKey1024(seed)
			if err != nil {
				return nil, nil, err
			}
			return dk, dk.EncapsulationKey().Bytes(), nil
		},
		func(pk []byte) (standardPublic, error) { return mlkem.NewEncapsulationKey1024(pk) },
		func(seed []byte) (standardPrivate, error) { return mlkem.NewDecapsulationKey1024(seed) },
	},
}

// standardKemVariants are those of crypto/mlkem, whose key types cache Â. It has no ML-KEM-512, reads
// private keys as seeds alone and draws m itself.
func standardKemVariants() []variant {
	common := variant{
		implementation: "go-ml-kem",
		version:        goVersion(),
		backend:        "go",
		family:         "ml-kem",
		sets:           []string{"ML-KEM-768", "ML-KEM-1024"},
		rnd:            "none",
		context:        "no",
		privateKeys:    "seed",
	}
	return kemVariants(common, prepareStandardKem,
		"crypto/mlkem; encaps parses the key's byte string and decaps makes the key pair of its seed in each call, "+
			"the one form it reads; keygen ends with the DecapsulationKey and the encoded public key; default garbage collector",
		"crypto/mlkem; the ordinary EncapsulationKey and DecapsulationKey, which cache A-hat and the vectors in "+
			"NTT form; default garbage collector")
}

func prepareStandardKem(expanded bool) func(set, name string, in input) operation {
	return func(set, name string, in input) operation {
		scheme := standardKems[set]
		switch name {
		case "keygen":
			return operation{run: func() ([]byte, error) {
				_, pk, err := scheme.keygen(in.seed)
				return pk, err
			}}
		case "encaps":
			return encapsulation(expanded,
				func() (standardPublic, error) { return scheme.public(in.pk) },
				func(pk standardPublic) ([]byte, []byte, error) {
					secret, ciphertext := pk.Encapsulate()
					return ciphertext, secret, nil
				})
		}
		if in.seed == nil {
			return refused(errors.New("reads private keys as seeds alone, and no seed was given"))
		}
		return decapsulation(expanded,
			func() (standardPrivate, error) { return scheme.private(in.seed) },
			func(sk standardPrivate) ([]byte, error) { return sk.Decapsulate(in.ciphertext) })
	}
}
