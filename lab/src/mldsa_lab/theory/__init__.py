"""Models of ML-DSA's cost that are based only on FIPS 204, not on measurements."""
