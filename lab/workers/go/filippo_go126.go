//go:build !go1.27 || fips140v1.0

package main

// Its field arithmetic is portable Go; SHAKE is the standard library's, with assembly where it has it.
const (
	mldsaName = "filippo"
	mldsaNote = ""
)

func mldsaVersion() string { return moduleVersion("filippo.io/mldsa") }
