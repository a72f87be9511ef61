"""Models of ML-DSA's cost that rest on FIPS 204 alone, not on measurements."""
