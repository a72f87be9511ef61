package main

import (
	"errors"
	"fmt"
)

// A variant is one implementation with one backend and one key form.
type variant struct {
	implementation string
	version        string
	backend        string
	key            string // compact or expanded
	family         string
	sets           []string
	operations     []string
	rnd            string // given, zero or none
	context        string // yes or no
	privateKeys    string // forms that signing starts from
	note           string

	// prepare does everything that is not timed. An input that the implementation refuses is the
	// business of the operation that it returns, not an error of the request.
	prepare func(set, operation string, in input) operation
}

func (v *variant) id() string {
	return v.implementation + ":" + v.backend + ":" + v.key
}

// An operation performs one prepared input.
type operation struct {
	// run is the timed call. Its output is the public key, the signature or the verdict, the ciphertext
	// and the shared secret behind it, or the shared secret.
	run func() ([]byte, error)
	// joined gives the output of the last run where that leaves it in parts, since putting them together
	// is not timed; nil elsewhere.
	joined func() []byte
	// privateKey gives the encoded private key that the last run made. It is nil where
	// the implementation cannot give them.
	privateKey func() []byte
}

// perform runs the operation once.
func (op operation) perform() ([]byte, error) {
	output, err := op.run()
	return op.whole(output), err
}

// whole is the output of a run that returned this.
func (op operation) whole(output []byte) []byte {
	if op.joined != nil {
		return op.joined()
	}
	return output
}

// refused is the operation of an input that the implementation cannot take.
func refused(err error) operation {
	return operation{run: func() ([]byte, error) { return nil, err }}
}

// verdict is the output of a verification.
func verdict(accepted bool) []byte {
	if accepted {
		return []byte{1}
	}
	return []byte{0}
}

// An input holds the byte fields of one input; a field that was not sent is nil.
type input struct {
	number                                                     uint64
	seed, sk, pk, message, context, rnd, signature, ciphertext []byte
}

func (in *input) field(name string) *[]byte {
	switch name {
	case "seed":
		return &in.seed
	case "sk":
		return &in.sk
	case "pk":
		return &in.pk
	case "message":
		return &in.message
	case "context":
		return &in.context
	case "rnd":
		return &in.rnd
	case "signature":
		return &in.signature
	case "ciphertext":
		return &in.ciphertext
	}
	return nil
}

// requiredFields are those that every input of an operation has. Signing and decapsulation also take a
// private key, in whichever form the implementation reads, and rnd where the variant can be given one.
var requiredFields = map[string][]string{
	"keygen": {"seed"},
	"sign":   {"message", "context"},
	"verify": {"pk", "message", "context", "signature"},
	"encaps": {"pk"},
	"decaps": {"ciphertext"},
}

var mlDsaSets = []string{"ML-DSA-44", "ML-DSA-65", "ML-DSA-87"}

// prepareInput turns a panic of the implementation, and a request that none of ours can fulfil, into
// an operation that fails.
func prepareInput(v *variant, set, name string, in input) (op operation) {
	defer func() {
		if cause := recover(); cause != nil {
			op = refused(panicError(cause))
		}
	}()
	if name == "sign" && v.rnd == "zero" && string(in.rnd) != string(make([]byte, 32)) {
		return refused(errors.New("signs deterministically: rnd must be 32 zero bytes"))
	}
	return v.prepare(set, name, in)
}

// perform runs an operation once; a panic becomes its error.
func perform(op operation) (output []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicError(cause)
		}
	}()
	return op.perform()
}

func panicError(cause any) error {
	return fmt.Errorf("panic: %v", cause)
}
