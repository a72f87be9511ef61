package main

import (
	"crypto/sha256"
	"runtime"
	"time"
)

// time.Now carries a monotonic reading, and Sub uses it.
const wallClockName = "Go monotonic (time.Now)"

type sample struct {
	index  int // of the input in its job
	wall   int64
	cpu    int64
	digest [sha256.Size]byte
	err    error
}

// measure warms up for at least one call and the given wall time in ns, then takes `passes` samples
// of every input, of `calls` calls each. The collector runs as Go sets it: its work on this thread
// (allocation assists) is inside both clocks, its work on other threads in neither, but for the
// processor time that it takes from this one.
func measure(inputs []operation, passes, calls, warmup uint64) []sample {
	// The CPU clock is the thread's, so the goroutine must stay on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if len(inputs) == 0 {
		return nil
	}
	began := time.Now()
	for i := 0; ; i++ {
		perform(inputs[i%len(inputs)])
		if time.Since(began) >= time.Duration(min(warmup, 1<<62)) {
			break
		}
	}
	var samples []sample
	for range passes {
		for i, op := range inputs {
			s := take(op, calls)
			s.index = i
			samples = append(samples, s)
		}
	}
	return samples
}

// take times `calls` calls; the first that fails ends the sample.
func take(op operation, calls uint64) (s sample) {
	defer func() {
		if cause := recover(); cause != nil {
			s.err = panicError(cause)
		}
	}()
	var output []byte
	cpuBegan := threadCPU()
	began := time.Now()
	for range calls {
		output, s.err = op.run()
		if s.err != nil {
			return s
		}
	}
	s.wall = int64(time.Since(began))
	s.cpu = threadCPU() - cpuBegan
	s.digest = sha256.Sum256(op.whole(output))
	return s
}
