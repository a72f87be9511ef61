"""The commands of `mldsa-lab`, a module for each; `mldsa_lab.cli.main` puts them together."""
