"""Traces of any number of inputs: cut into blocks, traced on all cores or a cluster, put together
in order, so that the result depends on the inputs alone."""
