//go:build purego

package main

const circlPureGo = true
