"""The costs of a migration for a chain or a protocol: scenarios and figures."""
