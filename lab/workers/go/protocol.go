package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const protocolVersion = "1"

type job struct {
	operation string
	numbers   []uint64
	inputs    []operation
}

// A worker answers the requests of the lab. See lab/workers/PROTOCOL.md.
type worker struct {
	name     string
	in       *bufio.Reader
	out      *bufio.Writer
	variants []variant
	jobs     map[uint64]job
}

func newWorker(name string, in io.Reader, out io.Writer, variants []variant) *worker {
	return &worker{
		name:     name,
		in:       bufio.NewReaderSize(in, 1<<16),
		out:      bufio.NewWriterSize(out, 1<<16),
		variants: variants,
		jobs:     map[uint64]job{},
	}
}

// serve answers requests until quit or the end of input.
func (w *worker) serve() error {
	for {
		line, err := w.line()
		if err == io.EOF || err == nil && line == "quit" {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.request(line); err != nil {
			if err == io.EOF {
				return nil
			}
			w.printf("error %s\n", oneLine(err))
		}
		if err := w.out.Flush(); err != nil {
			return err
		}
	}
}

// line reads one whole line; an unfinished one is the end of input.
func (w *worker) line() (string, error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:len(line)-1], nil
}

func (w *worker) printf(format string, values ...any) {
	fmt.Fprintf(w.out, format, values...) // a failed write is kept and reported by Flush
}

func (w *worker) request(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "hello":
		return w.hello(rest)
	case "prepare":
		return w.prepare(rest)
	case "answer":
		return w.answer(rest)
	case "measure":
		return w.measure(rest)
	case "forget":
		number, _, err := w.job(rest)
		if err != nil {
			return err
		}
		delete(w.jobs, number)
		w.printf("done %d\n", number)
		return nil
	}
	return fmt.Errorf("unknown request %.40q", name)
}

func (w *worker) hello(version string) error {
	if version != protocolVersion {
		return fmt.Errorf("this worker speaks protocol %s, not %.40q", protocolVersion, version)
	}
	w.printf("worker %s\nprotocol %s\nlanguage Go\n", w.name, protocolVersion)
	w.printf("compiler %s\nflags %s\n", compiler(), buildFlags())
	w.printf("unit ns\nclock %s\ncpu_clock %s\n", wallClockName, cpuClockName)
	for i := range w.variants {
		v := &w.variants[i]
		w.printf("variant %s\nimplementation %s\nversion %s\nbackend %s\nkey %s\n",
			v.id(), v.implementation, v.version, v.backend, v.key)
		w.printf("family %s\nsets %s\noperations %s\nrnd %s\ncontext %s\nprivate_keys %s\nnote %s\n", v.family,
			strings.Join(v.sets, " "), strings.Join(v.operations, " "), v.rnd, v.context, v.privateKeys, v.note)
	}
	w.printf("end\n")
	return nil
}

// prepare reads the request through its end line before it reports anything that is wrong with it,
// so that the lab and the worker stay in step.
func (w *worker) prepare(rest string) error {
	var body []string
	for {
		line, err := w.line()
		if err != nil {
			return err
		}
		if line == "end" {
			break
		}
		body = append(body, line)
	}
	number, err := parseNumber(rest)
	if err != nil {
		return err
	}
	prepared, err := w.parseJob(body)
	if err != nil {
		return err
	}
	w.jobs[number] = prepared
	w.printf("ready %d\n", number)
	return nil
}

func (w *worker) parseJob(body []string) (job, error) {
	var head [3]string
	for i, key := range []string{"variant", "set", "operation"} {
		name, value, _ := strings.Cut(at(body, i), " ")
		if name != key {
			return job{}, fmt.Errorf("line %d of prepare must be `%s`, got %.40q", i+2, key, name)
		}
		head[i] = value
	}
	v := w.variant(head[0])
	if v == nil {
		return job{}, fmt.Errorf("unknown variant %.80q", head[0])
	}
	set, name := head[1], head[2]
	if !slices.Contains(v.sets, set) {
		return job{}, fmt.Errorf("variant %s has no set %.40q", v.id(), set)
	}
	if !slices.Contains(v.operations, name) {
		return job{}, fmt.Errorf("variant %s has no operation %.40q", v.id(), name)
	}
	inputs, err := parseInputs(body[3:])
	if err != nil {
		return job{}, err
	}
	prepared := job{operation: name}
	for _, in := range inputs {
		required := requiredFields[name]
		if (name == "sign" || name == "encaps") && v.rnd != "none" {
			required = append(slices.Clone(required), "rnd")
		}
		for _, field := range required {
			if *in.field(field) == nil {
				return job{}, fmt.Errorf("input %d has no %s, which %s needs", in.number, field, name)
			}
		}
		prepared.numbers = append(prepared.numbers, in.number)
		prepared.inputs = append(prepared.inputs, prepareInput(v, set, name, in))
	}
	return prepared, nil
}

func (w *worker) variant(id string) *variant {
	for i := range w.variants {
		if w.variants[i].id() == id {
			return &w.variants[i]
		}
	}
	return nil
}

func (w *worker) job(text string) (uint64, job, error) {
	number, err := parseNumber(text)
	if err != nil {
		return 0, job{}, err
	}
	found, ok := w.jobs[number]
	if !ok {
		return 0, job{}, fmt.Errorf("unknown job %d", number)
	}
	return number, found, nil
}

func (w *worker) answer(rest string) error {
	number, found, err := w.job(rest)
	if err != nil {
		return err
	}
	for i, op := range found.inputs {
		output, err := perform(op)
		if err != nil {
			w.printf("failed %d %s\n", found.numbers[i], oneLine(err))
			continue
		}
		w.printf("output %d %s", found.numbers[i], formatHex(output))
		if found.operation == "keygen" {
			var private []byte
			if op.privateKey != nil {
				private = op.privateKey()
			}
			w.printf(" %s", formatHex(private))
		}
		w.printf("\n")
	}
	w.printf("done %d\n", number)
	return nil
}

func (w *worker) measure(rest string) error {
	words := strings.Split(rest, " ")
	if len(words) != 4 {
		return errors.New("expected `measure JOB PASSES CALLS WARMUP`")
	}
	number, found, err := w.job(words[0])
	if err != nil {
		return err
	}
	var values [3]uint64
	for i, word := range words[1:] {
		if values[i], err = parseNumber(word); err != nil {
			return err
		}
	}
	if values[1] == 0 {
		return errors.New("CALLS must be at least 1")
	}
	for _, s := range measure(found.inputs, values[0], values[1], values[2]) {
		if s.err != nil {
			w.printf("failed %d %s\n", found.numbers[s.index], oneLine(s.err))
			continue
		}
		cpu := "-"
		if cpuClockName != "none" {
			cpu = strconv.FormatInt(s.cpu, 10)
		}
		w.printf("sample %d %d %s %d %x\n", found.numbers[s.index], s.wall, cpu, values[1], s.digest)
	}
	w.printf("done %d\n", number)
	return nil
}
