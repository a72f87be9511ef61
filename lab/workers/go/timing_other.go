//go:build !(linux || darwin || freebsd)

package main

const cpuClockName = "none"

func threadCPU() int64 { return 0 }
