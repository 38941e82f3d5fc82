"""Write a recorded iteration of many runs as one flat loop over (run, sample).

A compiler fuses and vectorises long, equal loops well, and badly those over two inputs or one
output. Here every tensor `(runs, batch, in, …)` becomes an array of cells, one for each index of
its small dimensions; a cell is a tensor `(runs, batch)`, or `(runs, 1)` for what does not depend on
the sample. Operations on small dimensions happen while recording; what is left is elementwise, but
for matrix products and for sums over the batch, which follow torch's order.
"""

from .cells import UnrollingError
from .interpreter import unrolled

__all__ = ["UnrollingError", "unrolled"]
