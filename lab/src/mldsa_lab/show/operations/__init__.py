"""What records of operations show beside their module of `kinds`: ranks, findings, the run's facts,
measurements made elsewhere, plots of signing."""
