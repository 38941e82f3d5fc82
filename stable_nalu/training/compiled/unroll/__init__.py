"""A recorded iteration of many runs, rewritten as one flat loop over (run, sample).

A compiler fuses and vectorises long loops of equal length well, and short loops over two inputs or
one output badly. Here every tensor `(runs, batch, in, …)` becomes an array of cells, one per index
of its small dimensions. A cell is a tensor `(runs, batch)`, or `(runs, 1)` where it does not depend
on the sample. Operations on small dimensions happen while recording. What is left is elementwise,
except for matrix products and sums over the batch, which follow torch's order.
"""

from .cells import UnrollingError
from .interpreter import unrolled
