package main

import (
	"bytes"
	"errors"

	"github.com/cloudflare/circl/sign/slhdsa"
)

var slhDsaSets = []string{
	"SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128f", "SLH-DSA-SHAKE-128s", "SLH-DSA-SHAKE-128f",
	"SLH-DSA-SHA2-192s", "SLH-DSA-SHA2-192f", "SLH-DSA-SHAKE-192s", "SLH-DSA-SHAKE-192f",
	"SLH-DSA-SHA2-256s", "SLH-DSA-SHA2-256f", "SLH-DSA-SHAKE-256s", "SLH-DSA-SHAKE-256f",
}

// circlSlhVariants is circl's SLH-DSA. Its key objects are the keys' bytes, so they are compact.
func circlSlhVariants() []variant {
	return []variant{{
		implementation: "circl-slh-dsa",
		version:        moduleVersion("github.com/cloudflare/circl"),
		backend:        "native",
		key:            "compact",
		family:         "slh-dsa",
		sets:           slhDsaSets,
		operations:     []string{"keygen", "sign", "verify"},
		rnd:            "given",
		context:        "yes",
		privateKeys:    "seed sk",
		note:           "SHA-2 is the standard library's; default garbage collector",
		prepare:        prepareCirclSlh,
	}}
}

// circlSlhKeys makes a key pair of SK.seed, SK.prf and PK.seed one behind another.
func circlSlhKeys(id slhdsa.ID, seed []byte) (slhdsa.PublicKey, slhdsa.PrivateKey, error) {
	var pk slhdsa.PublicKey
	if len(seed) != 3*id.Scheme().PublicKeySize()/2 {
		return pk, slhdsa.PrivateKey{}, errors.New("the seed must be SK.seed, SK.prf and PK.seed")
	}
	return slhdsa.GenerateKey(bytes.NewReader(seed), id)
}

func prepareCirclSlh(set, name string, in input) operation {
	id, err := slhdsa.IDByName(set)
	if err != nil {
		return refused(err)
	}
	switch name {
	case "keygen":
		var last slhdsa.PrivateKey
		return operation{
			run: func() ([]byte, error) {
				pk, sk, err := circlSlhKeys(id, in.seed)
				if err != nil {
					return nil, err
				}
				last = sk
				return pk.MarshalBinary()
			},
			privateKey: func() []byte {
				bytes, _ := last.MarshalBinary() // circl's never gives an error
				return bytes
			},
		}
	case "sign":
		sk := slhdsa.PrivateKey{ID: id}
		if in.sk != nil {
			err = sk.UnmarshalBinary(in.sk)
		} else {
			_, sk, err = circlSlhKeys(id, in.seed)
		}
		if err != nil {
			return refused(err)
		}
		message := slhdsa.NewMessage(in.message)
		if len(in.rnd) == 0 {
			return operation{run: func() ([]byte, error) {
				return slhdsa.SignDeterministic(&sk, message, in.context)
			}}
		}
		if len(in.rnd) != id.Scheme().PublicKeySize()/2 {
			return refused(errors.New("rnd must be n bytes, or none for deterministic signing"))
		}
		return operation{run: func() ([]byte, error) {
			return slhdsa.SignRandomized(&sk, bytes.NewReader(in.rnd), message, in.context)
		}}
	}
	pk := slhdsa.PublicKey{ID: id}
	if err := pk.UnmarshalBinary(in.pk); err != nil {
		return operation{run: func() ([]byte, error) { return verdict(false), nil }}
	}
	message := slhdsa.NewMessage(in.message)
	return operation{run: func() ([]byte, error) {
		return verdict(slhdsa.Verify(&pk, message, in.signature, in.context)), nil
	}}
}
