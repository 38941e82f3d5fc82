"""The alternative: the NMU case in JAX (`vmap`, `jit`, `scan`), drawing on the device."""

import os

# Only when this file is run: XLA reads it once, and one thread is the fairest comparison.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import sys
import time

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

RUNS, BATCH, INPUTS = 225, 128, 2
CHUNK = 500


def iteration(state, _):
    """Run one iteration of one run: draw, forward, backward, Adam."""
    key, weights, average, square, step, low, high = state
    key, own = jax.random.split(key)
    x = jax.random.uniform(own, (BATCH, INPUTS), minval=low, maxval=high)
    t = x[:, 0] * x[:, 1]

    def loss(weights):
        w = jnp.clip(weights, 0, 1)
        return jnp.mean((jnp.prod(x * w + 1 - w, 1) - t) ** 2)

    error, gradient = jax.value_and_grad(loss)(weights)
    step = step + 1
    average = 0.9 * average + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    rate = 1e-3 / (1 - 0.9**step)
    weights = weights - rate * average / (jnp.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return (key, weights, average, square, step, low, high), error


@jax.jit
def chunk(state):
    """Run many iterations of all runs, which are inside the scan, so that one loop serves all."""
    return jax.lax.scan(lambda s, i: jax.vmap(iteration, (0, None))(s, i), state, None, CHUNK)


def main() -> None:
    """Print the microseconds of CPU time of a run and iteration for every line read."""
    keys = jax.random.split(jax.random.PRNGKey(0), RUNS)
    weights = jax.random.uniform(keys[0], (RUNS, INPUTS), minval=0.25, maxval=0.75)
    zeros = jnp.zeros_like(weights)
    low = jnp.tile(jnp.array([-20, -2, -1.2, -0.2, -2, 0.1, 1, 1.1, 10]), 25)
    high = jnp.tile(jnp.array([-10, -1, -1.1, -0.1, 2, 0.2, 2, 1.2, 20]), 25)
    state = (keys, weights, zeros, zeros, jnp.zeros(RUNS), low, high)
    state, _ = jax.block_until_ready(chunk(state))
    for _ in sys.stdin:
        began = time.process_time()
        state, _ = jax.block_until_ready(chunk(state))
        sys.stdout.write(f"{(time.process_time() - began) * 1e6 / (CHUNK * RUNS)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
