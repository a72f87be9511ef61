package main

import (
	"errors"
	"fmt"

	"filippo.io/mldsa"
)

// filippoVariants are those of filippo.io/mldsa, or of the standard library's crypto/mldsa where the
// toolchain has it. Its PrivateKey caches Â and the NTT forms, its
// PublicKey only the hash of the key, so signing and verification are of different key forms.
func filippoVariants() []variant {
	common := variant{
		implementation: mldsaName,
		version:        mldsaVersion(),
		backend:        "go",
		family:         "ml-dsa",
		sets:           mlDsaSets,
		rnd:            "zero",
		context:        "yes",
		privateKeys:    "seed",
		prepare:        prepareFilippo,
	}
	const defaults = "default garbage collector"
	compact, expanded := common, common
	compact.key = "compact"
	compact.operations = []string{"keygen", "verify"}
	compact.note = mldsaNote + "verifies with the ordinary PublicKey, which holds the encoded key and its hash tr; keygen ends with " +
		"the ordinary PrivateKey and the encoded public key; " + defaults
	expanded.key = "expanded"
	expanded.operations = []string{"sign"}
	expanded.note = mldsaNote + "the ordinary PrivateKey, which caches A-hat, t1, s1, s2 and t0 in NTT form; " + defaults
	return []variant{compact, expanded}
}

func filippoParameters(set string) (mldsa.Parameters, error) {
	for _, p := range []mldsa.Parameters{mldsa.MLDSA44(), mldsa.MLDSA65(), mldsa.MLDSA87()} {
		if p.String() == set {
			return p, nil
		}
	}
	return mldsa.Parameters{}, fmt.Errorf("%s has no %s", mldsaName, set)
}

func prepareFilippo(set, name string, in input) operation {
	params, err := filippoParameters(set)
	if err != nil {
		return refused(err)
	}
	options := &mldsa.Options{Context: string(in.context)}
	switch name {
	case "keygen":
		return operation{run: func() ([]byte, error) {
			sk, err := mldsa.NewPrivateKey(params, in.seed)
			if err != nil {
				return nil, err
			}
			return sk.PublicKey().Bytes(), nil
		}}
	case "sign":
		if in.seed == nil {
			return refused(errors.New("reads private keys as seeds alone, and no seed was given"))
		}
		sk, err := mldsa.NewPrivateKey(params, in.seed)
		if err != nil {
			return refused(err)
		}
		return operation{run: func() ([]byte, error) {
			return sk.SignDeterministic(in.message, options)
		}}
	default:
		pk, err := mldsa.NewPublicKey(params, in.pk)
		if err != nil {
			return operation{run: func() ([]byte, error) { return verdict(false), nil }}
		}
		return operation{run: func() ([]byte, error) {
			return verdict(mldsa.Verify(pk, in.message, in.signature, options) == nil), nil
		}}
	}
}
