"""Hardware cores: their manifests, their models as workers, their resources."""
