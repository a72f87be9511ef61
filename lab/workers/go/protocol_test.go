package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func realVariants() []variant {
	return append(filippoVariants(), circlVariants()...)
}

// ask runs a worker over the requests and returns its reply lines.
func ask(t *testing.T, variants []variant, requests ...string) []string {
	t.Helper()
	var out bytes.Buffer
	w := newWorker("go", strings.NewReader(strings.Join(requests, "\n")+"\n"), &out, variants)
	if err := w.serve(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func prepareLines(job int, id, set, operation string, fields ...string) string {
	lines := []string{fmt.Sprintf("prepare %d", job), "variant " + id, "set " + set, "operation " + operation}
	return strings.Join(append(append(lines, fields...), "end"), "\n")
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d: %.300q", len(got), len(want), got)
	}
	for i := range want {
		if prefix, ok := strings.CutSuffix(want[i], "…"); ok {
			if !strings.HasPrefix(got[i], prefix) {
				t.Errorf("line %d: got %.200q, want it to begin with %q", i, got[i], prefix)
			}
		} else if got[i] != want[i] {
			t.Errorf("line %d: got %.200q, want %q", i, got[i], want[i])
		}
	}
}

const (
	seedHex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	zeroRnd = "0000000000000000000000000000000000000000000000000000000000000000"
)

// fake is a variant whose operations do what a test says.
func fake(run func() ([]byte, error)) []variant {
	return []variant{{
		implementation: "fake", version: "1", backend: "go", key: "compact",
		family: "ml-dsa", sets: mlDsaSets, operations: []string{"keygen", "sign", "verify"},
		rnd: "zero", context: "yes", privateKeys: "seed",
		prepare: func(string, string, input) operation { return operation{run: run} },
	}}
}

func TestRequestsThatAreRefused(t *testing.T) {
	good := fake(func() ([]byte, error) { return []byte{1}, nil })
	for _, test := range []struct{ request, reply string }{
		{"", `error unknown request ""`},
		{"nonsense \x00", `error unknown request "nonsense"`},
		{"hello 2", `error this worker speaks protocol 1, not "2"`},
		{"answer 9", "error unknown job 9"},
		{"forget 9", "error unknown job 9"},
		{"measure 9 1 1 0", "error unknown job 9"},
		{"measure 9", "error expected `measure JOB PASSES CALLS WARMUP`"},
		{"answer -1", `error expected a decimal number, got "-1"`},
		{"prepare x\nend", `error expected a decimal number, got "x"`},
		{"prepare 1\nend", "error line 2 of prepare must be `variant`, got \"\""},
		{prepareLines(1, "fake:go:other", "ML-DSA-44", "keygen"), `error unknown variant "fake:go:other"`},
		{prepareLines(1, "fake:go:compact", "ML-DSA-45", "keygen"), `error variant fake:go:compact has no set "ML-DSA-45"`},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "trace"), `error variant fake:go:compact has no operation "trace"`},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "seed 00"), "error expected an `input` line, got \"seed\""},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0"), "error input 0 has no seed, which keygen needs"},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed 0"), "error input 0: seed must be lower-case…"},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed AB"), "error input 0: seed must be lower-case…"},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed "), "error input 0: seed must be lower-case…"},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "sead 00"), `error input 0: unknown field "sead"`},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed 00", "seed 00"), "error input 0: seed is given twice"},
		{prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed 00", "input 0", "seed 00"), "error input 0 is given twice"},
	} {
		// The worker lives on, in step: the next request has its own answer.
		got := ask(t, good, test.request, prepareLines(5, "fake:go:compact", "ML-DSA-44", "keygen"), "quit")
		expect(t, got, test.reply, "ready 5")
	}
}

func TestJobsAreReplacedAndForgotten(t *testing.T) {
	value := byte(0)
	variants := fake(func() ([]byte, error) { value++; return []byte{value}, nil })
	first := prepareLines(3, "fake:go:compact", "ML-DSA-44", "verify",
		"input 7", "pk -", "message -", "context -", "signature -")
	second := prepareLines(3, "fake:go:compact", "ML-DSA-44", "verify",
		"input 9", "pk -", "message -", "context -", "signature -",
		"input 8", "pk -", "message -", "context -", "signature -")
	got := ask(t, variants, first, "answer 3", second, "answer 3", "forget 3", "answer 3", "quit", "answer 3")
	expect(t, got, "ready 3", "output 7 01", "done 3",
		"ready 3", "output 9 02", "output 8 03", "done 3", "done 3", "error unknown job 3")
}

func TestFailuresAndPanicsAreOfOneInput(t *testing.T) {
	calls := 0
	variants := fake(func() ([]byte, error) {
		calls++
		switch calls % 3 {
		case 1:
			return nil, errors.New("two\nlines")
		case 2:
			panic("lost")
		}
		return []byte{0xab}, nil
	})
	job := prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen",
		"input 0", "seed 00", "input 1", "seed 00", "input 2", "seed 00")
	got := ask(t, variants, job, "answer 1")
	expect(t, got, "ready 1", "failed 0 two lines", "failed 1 panic: lost", "output 2 ab -", "done 1")

	calls = 2 // so that the warm-up's one call is the third kind
	got = ask(t, variants, job, "measure 1 1 1 0")
	expect(t, got, "ready 1", "failed 0 two lines", "failed 1 panic: lost", "sample 2 …", "done 1")
}

func TestPanicInPreparationFails(t *testing.T) {
	variants := fake(nil)
	variants[0].prepare = func(string, string, input) operation { panic("bad key") }
	job := prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 0", "seed 00")
	expect(t, ask(t, variants, job, "answer 1"), "ready 1", "failed 0 panic: bad key", "done 1")
}

func TestMeasureCountsAndDigests(t *testing.T) {
	calls := 0
	variants := fake(func() ([]byte, error) { calls++; return []byte("output"), nil })
	job := prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen", "input 4", "seed 00", "input 2", "seed 00")
	got := ask(t, variants, job, "measure 1 3 5 0")
	if calls != 1+3*2*5 {
		t.Errorf("%d calls, want one of warm-up and 30 timed", calls)
	}
	if len(got) != 8 || got[7] != "done 1" {
		t.Fatalf("got %q", got)
	}
	sum := sha256.Sum256([]byte("output"))
	for i, line := range got[1:7] {
		var number, wall, count uint64
		var cpu, digest string
		if _, err := fmt.Sscanf(line, "sample %d %d %s %d %s", &number, &wall, &cpu, &count, &digest); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if number != []uint64{4, 2}[i%2] || count != 5 || digest != hex.EncodeToString(sum[:]) {
			t.Errorf("got %q", line)
		}
		if (cpu == "-") != (cpuClockName == "none") {
			t.Errorf("CPU ticks are %q with the clock %s", cpu, cpuClockName)
		}
	}
	expect(t, ask(t, variants, job, "measure 1 1 0 0"), "ready 1", "error CALLS must be at least 1")
	expect(t, ask(t, variants, prepareLines(1, "fake:go:compact", "ML-DSA-44", "keygen"), "measure 1 2 1 0"),
		"ready 1", "done 1")
}

func TestUnfinishedLineIsTheEndOfInput(t *testing.T) {
	var out bytes.Buffer
	for _, text := range []string{"", "hel", "prepare 1\nvariant"} {
		if err := newWorker("go", strings.NewReader(text), &out, fake(nil)).serve(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if out.Len() != 0 {
		t.Errorf("got %q", out.String())
	}
}

func TestHelloNamesEveryVariant(t *testing.T) {
	got := ask(t, variantsOf("go"), "hello 1")
	var ids []string
	for _, line := range got {
		if key, value, _ := strings.Cut(line, " "); value == "" && key != "end" {
			t.Errorf("line %q has no value", line)
		} else if key == "variant" {
			ids = append(ids, value)
		}
	}
	if len(ids) != len(variantsOf("go")) || got[len(got)-1] != "end" {
		t.Errorf("got %q", got)
	}
}

// Both libraries make the same keys and, deterministically, the same signatures, in every key form,
// and each accepts what the other signed; an altered message is refused.
func TestLibrariesAgree(t *testing.T) {
	for _, set := range mlDsaSets {
		var public, private, signature string
		for _, v := range realVariants() {
			for _, name := range v.operations {
				if name != "keygen" {
					continue
				}
				got := ask(t, realVariants(), prepareLines(1, v.id(), set, name, "input 0", "seed "+seedHex), "answer 1")
				words := strings.Split(got[1], " ")
				if public == "" {
					public = words[2]
				}
				if words[2] != public {
					t.Errorf("%s %s: another public key", v.id(), set)
				}
				if words[3] != "-" {
					private = words[3]
				}
			}
		}
		message := "message 6d657373616765"
		for _, context := range []string{"context -", "context 636f6e74657874"} {
			signature = ""
			for _, form := range []string{"seed " + seedHex, "sk " + private} {
				for _, v := range realVariants() {
					if !strings.Contains(strings.Join(v.operations, " "), "sign") {
						continue
					}
					got := ask(t, realVariants(), prepareLines(1, v.id(), set, "sign",
						"input 0", form, message, context, "rnd "+zeroRnd), "answer 1")
					if key, _, _ := strings.Cut(form, " "); !strings.Contains(v.privateKeys, key) {
						expect(t, got, "ready 1", "failed 0 reads private keys as seeds alone…", "done 1")
						continue
					}
					words := strings.Split(got[1], " ")
					if signature == "" {
						signature = words[2]
					}
					if words[0] != "output" || words[2] != signature {
						t.Errorf("%s %s: another signature: %.100q", v.id(), set, got[1])
					}
				}
			}
			for _, v := range realVariants() {
				if !strings.Contains(strings.Join(v.operations, " "), "verify") {
					continue
				}
				got := ask(t, realVariants(), prepareLines(1, v.id(), set, "verify",
					"input 0", "pk "+public, message, context, "signature "+signature,
					"input 1", "pk "+public, message+"00", context, "signature "+signature,
					"input 2", "pk "+public, message, "context 00", "signature "+signature,
					"input 3", "pk "+public, message, context, "signature "+signature+"00",
					"input 4", "pk "+public+"00", message, context, "signature "+signature,
					"input 5", "pk -", message, context, "signature -"), "answer 1")
				expect(t, got, "ready 1", "output 0 01", "output 1 00", "output 2 00", "output 3 00",
					"output 4 00", "output 5 00", "done 1")
			}
		}
	}
}

func TestInputsThatSigningCannotUse(t *testing.T) {
	long := "context " + strings.Repeat("61", 256)
	for _, v := range realVariants() {
		if !strings.Contains(strings.Join(v.operations, " "), "sign") {
			continue
		}
		got := ask(t, realVariants(), prepareLines(1, v.id(), "ML-DSA-65", "sign",
			"input 0", "seed "+seedHex, "message -", long, "rnd "+zeroRnd,
			"input 1", "seed 00", "message -", "context -", "rnd "+zeroRnd,
			"input 2", "seed "+seedHex, "message -", "context -", "rnd "+strings.Repeat("01", 32),
			"input 3", "message -", "context -", "rnd "+zeroRnd,
			"input 4", "seed "+seedHex, "message -", "context -", "rnd "+zeroRnd), "answer 1")
		expect(t, got, "ready 1", "failed 0 …", "failed 1 …", "failed 2 signs deterministically…", "failed 3 …",
			"output 4 …", "done 1")
	}
}

// Both libraries make the same keys of d and z, each finds the other's secrets, an altered ciphertext
// gives another secret and a short one fails.
func TestKemLibrariesAgree(t *testing.T) {
	seed := "seed " + seedHex + strings.Repeat("5a", 32)
	kems := append(circlKemVariants(), standardKemVariants()...)
	for _, set := range standardKemVariants()[0].sets {
		public := ""
		for _, v := range kems {
			if v.key != "compact" {
				continue
			}
			got := ask(t, kems, prepareLines(1, v.id(), set, "keygen", "input 0", seed), "answer 1")
			words := strings.Split(got[1], " ")
			if public == "" {
				public = words[2]
			}
			if words[2] != public {
				t.Errorf("%s %s: another public key", v.id(), set)
			}
		}
		for _, maker := range kems {
			fields := []string{"input 0", "pk " + public}
			if maker.rnd == "given" {
				fields = append(fields, "rnd "+zeroRnd)
			}
			got := ask(t, kems, prepareLines(1, maker.id(), set, "encaps", fields...), "answer 1")
			output := strings.Split(got[1], " ")[2]
			ciphertext, secret := output[:len(output)-64], output[len(output)-64:]
			altered := "00" + ciphertext[2:]
			if altered == ciphertext {
				altered = "01" + ciphertext[2:]
			}
			for _, v := range kems {
				got := ask(t, kems, prepareLines(1, v.id(), set, "decaps",
					"input 0", seed, "ciphertext "+ciphertext, "input 1", seed, "ciphertext "+altered,
					"input 2", seed, "ciphertext "+ciphertext[2:]), "answer 1")
				expect(t, got, "ready 1", "output 0 "+secret, "output 1 …", "failed 2 …", "done 1")
				if got[1][9:] == got[2][9:] {
					t.Errorf("%s %s: an altered ciphertext has the same secret", v.id(), set)
				}
			}
		}
	}
}

// opt_rand is taken as given, and none means the deterministic variant.
func TestSlhDsaRandomness(t *testing.T) {
	slh := circlSlhVariants()
	id, set, seed := slh[0].id(), "SLH-DSA-SHA2-128f", "seed "+seedHex+strings.Repeat("5a", 16)
	sign := func(rnd string) string {
		got := ask(t, slh, prepareLines(1, id, set, "sign",
			"input 0", seed, "message -", "context -", "rnd "+rnd), "answer 1")
		return got[1]
	}
	// PK.seed, the last n bytes of the seed.
	if deterministic := sign("-"); deterministic != sign(strings.Repeat("5a", 16)) || deterministic != sign("-") {
		t.Error("deterministic signing does not take PK.seed for opt_rand")
	}
	if sign("-") == sign(strings.Repeat("00", 16)) {
		t.Error("another opt_rand gives the same signature")
	}
	if got := sign("00"); got != "failed 0 rnd must be n bytes, or none for deterministic signing" {
		t.Errorf("got %.100q", got)
	}
}

func TestAnotherToolchainHasItsStandardLibraryAlone(t *testing.T) {
	marked := variantsOf("go-1-27")
	for _, v := range marked {
		if v.backend != "go+go-1-27" {
			t.Errorf("%s: the backend does not name the worker", v.id())
		}
	}
	if len(marked) != len(filippoVariants())+len(standardKemVariants()) {
		t.Errorf("%d variants", len(marked))
	}
}
