//go:build go1.27 && !fips140v1.0

package main

// From Go 1.27 on, filippo.io/mldsa is the standard library's crypto/mldsa under other names, which are
// aliases, so that it is the standard library that is measured.
const (
	mldsaName = "go-ml-dsa"
	mldsaNote = "crypto/mldsa; "
)

func mldsaVersion() string { return goVersion() }
