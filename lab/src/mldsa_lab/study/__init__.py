"""Studies as files: measured, gone on with after an interrupt, compared, shown."""
