"""mldsa-lab measures ML-DSA implementations on inputs whose rejection traces are known."""

import os
from importlib.metadata import version

# Matrices here have some dozen rows: a second BLAS thread takes 1.7 times the CPU time and ends no
# sooner. It would also run beside what is being timed. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = version("mldsa-lab")
