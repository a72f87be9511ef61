//go:build linux || darwin || freebsd

package main

import "golang.org/x/sys/unix"

const cpuClockName = "CLOCK_THREAD_CPUTIME_ID"

// threadCPU is the processor time of the calling thread in ns.
func threadCPU() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("CLOCK_THREAD_CPUTIME_ID cannot be read: " + err.Error())
	}
	return t.Nano()
}
