# SPDX-License-Identifier: GPL-3.0-or-later
"""How long does it take on that TPU slice, and where does the time go?

>>> import icisim
>>> r = icisim.run("all-gather", chip="v5e", slice="4x4", size="64MiB", ring=["uni", "bidi"])
>>> r[0].time_s, r.to_pandas()
>>> icisim.sweep("workloads/llama-70b.yaml", chip="v5p", chips=512, mesh="all", top=10).to_pandas()

Options have the names and the values that the program has, with _ for -: `tokens_per_chip=4096` is
`--tokens-per-chip 4096`; `icisim.options()` lists them. `icisim.jax` takes jitted functions.

libicisim, which this loads, is GPL-3.0-or-later: see the file LICENCES of this package.
"""

from ._native import Error, program
from .points import columns, from_hf, from_maxtext, options, run, sweep, version
from .results import Result, Results

__all__ = ["Error", "Result", "Results", "columns", "from_hf", "from_maxtext", "options", "program", "run", "sweep", "version"]
__version__ = "0.2.0"
