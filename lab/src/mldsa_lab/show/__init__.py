"""Tables, plots and pages: everything here reads records and summaries, and measures nothing."""
