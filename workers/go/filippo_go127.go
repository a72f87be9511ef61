//go:build go1.27 && !fips140v1.0

package main

// From Go 1.27 on, filippo.io/mldsa hands every call on to the standard library's crypto/mldsa.
const (
	filippoBackend = "go-std"
	filippoNote    = "; this toolchain's own crypto/mldsa behind the module's interface"
)
