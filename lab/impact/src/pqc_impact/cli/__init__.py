"""The commands `impact` and `propagate`."""
