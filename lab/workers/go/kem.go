package main

var kemOperations = []string{"keygen", "encaps", "decaps"}

// kemVariants are a library's ML-KEM with the key's bytes read in each call, and with its key objects made
// before the clock.
func kemVariants(common variant, prepare func(expanded bool) func(set, name string, in input) operation, compactNote, expandedNote string) []variant {
	compact, expanded := common, common
	compact.key, compact.operations, compact.prepare, compact.note = "compact", kemOperations, prepare(false), compactNote
	expanded.key, expanded.operations, expanded.prepare, expanded.note = "expanded", kemOperations[1:], prepare(true), expandedNote
	return []variant{compact, expanded}
}

// encapsulation has the ciphertext with its secret behind it as its output, joined after the clock.
func encapsulation[K any](expanded bool, make func() (K, error), encaps func(K) (ciphertext, secret []byte, err error)) operation {
	key, err := prepared(expanded, make)
	if err != nil {
		return refused(err)
	}
	var ciphertext, secret []byte
	return operation{
		run: func() ([]byte, error) {
			pk, err := key()
			if err == nil {
				ciphertext, secret, err = encaps(pk)
			}
			return nil, err
		},
		joined: func() []byte { return append(append([]byte{}, ciphertext...), secret...) },
	}
}

func decapsulation[K any](expanded bool, make func() (K, error), decaps func(K) ([]byte, error)) operation {
	key, err := prepared(expanded, make)
	if err != nil {
		return refused(err)
	}
	return operation{run: func() ([]byte, error) {
		sk, err := key()
		if err != nil {
			return nil, err
		}
		return decaps(sk)
	}}
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
