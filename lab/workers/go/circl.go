package main

import (
	"errors"
	"runtime"

	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
	"golang.org/x/sys/cpu"
)

var circlSchemes = map[string]sign.Scheme{
	"ML-DSA-44": mldsa44.Scheme(),
	"ML-DSA-65": mldsa65.Scheme(),
	"ML-DSA-87": mldsa87.Scheme(),
}

// circlVariants are those of circl. Both its key types cache Â, so the ordinary use is expanded; the
// compact variant starts from the keys' byte strings, as a user who holds only those does.
func circlVariants() []variant {
	common := variant{
		implementation: "circl",
		version:        moduleVersion("github.com/cloudflare/circl"),
		backend:        circlBackend(),
		family:         "ml-dsa",
		sets:           mlDsaSets,
		rnd:            "zero",
		context:        "yes",
		privateKeys:    "seed sk",
	}
	compact, expanded := common, common
	compact.key = "compact"
	compact.operations = []string{"keygen", "sign", "verify"}
	compact.prepare = prepareCirclCompact
	compact.note = "each call unpacks the key's byte string, which expands A-hat; keygen ends with the ordinary PrivateKey " +
		"and the encoded public key; default garbage collector"
	expanded.key = "expanded"
	expanded.operations = []string{"sign", "verify"}
	expanded.prepare = prepareCirclExpanded
	expanded.note = "the ordinary PrivateKey, which caches A-hat, s1, s2 and t0 in NTT form, and PublicKey, which caches " +
		"A-hat and tr; default garbage collector"
	return []variant{compact, expanded}
}

// circlBackend names the code that circl picks at run time by the same questions.
func circlBackend() string {
	switch {
	case circlPureGo:
		return "go"
	case runtime.GOARCH == "amd64" && cpu.X86.HasAVX2:
		return "avx2"
	case runtime.GOARCH == "arm64":
		return "arm64"
	}
	return "go"
}

func circlOptions(in input) *sign.SignatureOpts {
	return &sign.SignatureOpts{Context: string(in.context)}
}

// circlPrivateKeyBytes is the private key as skEncode bytes, from whichever form was given.
func circlPrivateKeyBytes(scheme sign.Scheme, in input) ([]byte, error) {
	switch {
	case in.sk != nil:
		return in.sk, nil
	case in.seed == nil:
		return nil, errors.New("no private key was given")
	case len(in.seed) != scheme.SeedSize():
		return nil, sign.ErrSeedSize
	}
	_, sk := scheme.DeriveKey(in.seed)
	return sk.MarshalBinary()
}

func prepareCirclCompact(set, name string, in input) operation {
	scheme := circlSchemes[set]
	options := circlOptions(in)
	switch name {
	case "keygen":
		if len(in.seed) != scheme.SeedSize() {
			return refused(sign.ErrSeedSize)
		}
		var last sign.PrivateKey
		return operation{
			run: func() ([]byte, error) {
				pk, sk := scheme.DeriveKey(in.seed)
				last = sk
				return pk.MarshalBinary()
			},
			privateKey: func() []byte {
				bytes, _ := last.MarshalBinary() // circl's never gives an error
				return bytes
			},
		}
	case "sign":
		bytes, err := circlPrivateKeyBytes(scheme, in)
		if err != nil {
			return refused(err)
		}
		return operation{run: func() ([]byte, error) {
			sk, err := scheme.UnmarshalBinaryPrivateKey(bytes)
			if err != nil {
				return nil, err
			}
			return scheme.Sign(sk, in.message, options), nil
		}}
	}
	return operation{run: func() ([]byte, error) {
		pk, err := scheme.UnmarshalBinaryPublicKey(in.pk)
		if err != nil {
			return verdict(false), nil
		}
		return verdict(scheme.Verify(pk, in.message, in.signature, options)), nil
	}}
}

func prepareCirclExpanded(set, name string, in input) operation {
	scheme := circlSchemes[set]
	options := circlOptions(in)
	if name == "sign" {
		bytes, err := circlPrivateKeyBytes(scheme, in)
		if err != nil {
			return refused(err)
		}
		sk, err := scheme.UnmarshalBinaryPrivateKey(bytes)
		if err != nil {
			return refused(err)
		}
		return operation{run: func() ([]byte, error) {
			return scheme.Sign(sk, in.message, options), nil
		}}
	}
	pk, err := scheme.UnmarshalBinaryPublicKey(in.pk)
	if err != nil {
		return operation{run: func() ([]byte, error) { return verdict(false), nil }}
	}
	return operation{run: func() ([]byte, error) {
		return verdict(scheme.Verify(pk, in.message, in.signature, options)), nil
	}}
}
