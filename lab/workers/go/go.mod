module mldsa-lab-worker-go

go 1.25.0

require (
	filippo.io/mldsa v1.0.0
	github.com/cloudflare/circl v1.6.5
	golang.org/x/sys v0.47.0
)

require golang.org/x/crypto v0.54.0 // indirect
