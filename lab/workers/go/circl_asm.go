//go:build !purego

package main

// The build tag purego makes circl leave its assembly out.
const circlPureGo = false
