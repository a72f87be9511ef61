"""What a migration costs a chain or a protocol: scenarios as files, figures with their sources."""
