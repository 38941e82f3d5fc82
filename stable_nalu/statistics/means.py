r"""The means of the papers: the step solved at, and the sparsity error.

**Solved at** is the mean first step at which a run solves its task. Its gamma density is written
in mean mu and variance s2, with shape mu²/s2 and rate mu/s2. There are three fits:

    published   what the papers print. The variance starts at that of the sample and hardly moves,
                so the mean is the sample mean or, in skewed groups, a place that the profile
                walk came upon; twice the sample mean and more has been printed.
    frozen      the variance is that of the sample; the mean maximises the likelihood.
    profile     maximum likelihood in both: the mean is the arithmetic mean.

With fewer than two steps, equal steps, a step 0, or when the published fit fails, the arithmetic
mean with Student's interval stands in.

**The sparsity error** is the mean over solved runs. There are two fits:

    compat      what the papers print. Values clipped into [1e-16, 1/2 - 1e-16] are given the
                density Beta(2 mu v, (1 - 2 mu) v), whose mean is 2 mu, and mu is printed: about
                **half** the mean sparsity error. Where the fit fails, which it does for errors
                below about 4e-5, the arithmetic mean with Student's interval is printed, which
                is not halved.
    scaled      the same density on doubled values, by maximum likelihood; mu is the mean itself.

With fewer than two values, or equal ones, the arithmetic mean with Student's interval stands in.

**Densities** are as R's `dgamma` and `dbeta` compute them, accurate to the last digits. The
published fits difference log-likelihoods over steps of 1e-3 in parameters around 1e6, so lost
digits show: `scipy.stats.gamma.logpdf` subtracts terms around 1e7 there and loses seven of them.
Both are written as saddle-point expansions (Loader 2000, Fast and Accurate Computation of Binomial
Probabilities), in which nothing large cancels:

    delta(n)  = log Gamma(n) - (n - 1/2) log n + n - log(2 pi)/2         Stirling error
    D(k, m)   = k log(k/m) + m - k                                       deviance
    log Poisson(k; m) = -log(2 pi k)/2 - delta(k) - D(k, m)

A sample has a handful of values, and a fit asks for many densities at once: what takes the time is
the number of NumPy's calls, so that all densities are evaluated by the same ones, one in each row.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import digamma, gammainc, gammaln, polygamma
from scipy.stats import beta, chi2, kstest

from .intervals import student
from .published_fit import MeanFit, Objective, published_fit
from .setups import GammaFit, SparsityFit

Floats = Sequence[float]

_EQUAL_STEPS = 1e-5
_SMALLEST_VARIANCE = 1e-5

LARGEST = 0.5
"""The largest sparsity error."""

MARGIN = 1e-16
"""How far from their bounds sparsity errors are held, where the beta density is finite."""

_EQUAL_ERRORS = 1e-10
_SMALLEST_V = 1e-5
_DENSITY_LIMIT = 1e6

_RISE = float(chi2.ppf(0.95, df=1)) / 2
_NUISANCE_DECADES = 8
_SMALLEST = 1e-300

_FEWEST_STEPS = 11
"""The number of distinct steps below which they have no shape to speak of."""

_NEWTON_STEPS = 8


def solved_at(steps: np.ndarray, gamma_fit: GammaFit = "published") -> MeanFit:
    """Return the mean step with its interval; `nuisance` is the variance."""
    variance = float(np.var(steps, ddof=1)) if len(steps) > 1 else math.nan
    plain = _students(steps, math.inf, variance)
    if len(steps) < 2 or math.sqrt(variance) <= _EQUAL_STEPS or np.any(steps <= 0):
        return plain
    objective = gamma_objective(steps)
    start = (float(np.mean(steps)), variance)
    if gamma_fit != "published":
        return exact_fit(objective, start, math.inf, frozen=gamma_fit == "frozen")
    box = ((0.0, _SMALLEST_VARIANCE), (math.inf, math.inf))
    return published_fit(objective, start, *box) or plain


def gamma_objective(steps: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mean, variance); it is NaN outside of the domain."""

    def density(means: Floats, variances: Floats) -> np.ndarray:
        shapes = [mean**2 / variance for mean, variance in zip(means, variances, strict=True)]
        rates = [mean / variance for mean, variance in zip(means, variances, strict=True)]
        return log_gamma_density(steps, shapes, rates)

    return _negative_sum(density, lambda mean, variance: mean > 0 and variance > 0)


def mean_sparsity(errors: np.ndarray, fit: SparsityFit = "compat") -> MeanFit:
    """Return the mean sparsity error with its interval.

    `nuisance` is v, the sum of the shapes of the beta density.
    """
    values = np.clip(errors, MARGIN, LARGEST - MARGIN)
    v = start_v(values)
    plain = _students(values, LARGEST, v)
    if len(values) < 2 or np.std(values, ddof=1) <= _EQUAL_ERRORS:
        return plain
    start = (float(np.mean(values)), v)
    if fit == "scaled":
        return exact_fit(beta_objective(2 * values), start, LARGEST)
    box = ((0.0, _SMALLEST_V), (LARGEST, math.inf))
    return published_fit(beta_objective(values), start, *box) or plain


def start_v(values: np.ndarray) -> float:
    """Return m (1/2 - m) / variance - 1: infinite for equal values, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    return math.inf if variance == 0 else mean * (LARGEST - mean) / variance - 1


def beta_objective(values: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mu, v), which is NaN outside of the domain.

    Log densities are cut to [-1e6, 1e6], as in the papers' code.
    """
    log_density = log_beta_density(values)

    def density(means: Floats, sums: Floats) -> np.ndarray:
        a = [2 * mu * v for mu, v in zip(means, sums, strict=True)]
        uncut = log_density(a, [(1 - 2 * mu) * v for mu, v in zip(means, sums, strict=True)])
        return np.minimum(np.maximum(uncut, -_DENSITY_LIMIT), _DENSITY_LIMIT)

    return _negative_sum(density, lambda mu, v: 0 <= mu <= LARGEST and v > 0)


def _negative_sum(
    density: Callable[[Floats, Floats], np.ndarray], inside: Callable[[float, float], bool]
) -> Objective:
    def objective(parameters: np.ndarray) -> np.ndarray:
        first, second = parameters.tolist()
        known = list(map(inside, first, second))
        if all(known):
            return -np.add.reduce(density(first, second), axis=1, dtype=np.longdouble).astype(float)
        values = np.full(len(known), math.nan)
        if any(known):
            values[known] = objective(parameters[:, known])
        return values

    return objective


def _students(values: np.ndarray, highest: float, nuisance: float) -> MeanFit:
    plain = student(values, 0.0, highest)
    return MeanFit(plain.mean, plain.lower, plain.upper, nuisance)


def exact_fit(
    objective: Objective, start: tuple[float, float], upper: float, *, frozen: bool = False
) -> MeanFit:
    """Minimise a negative log-likelihood of (mean, nuisance) over 0 < mean < upper.

    The nuisance parameter, positive, is fitted on a log scale at every mean, or `frozen` at its
    start. The interval ends where the profile has risen by 1.92, or else at the bound.
    """
    # Moments of few, far-apart values can give a nuisance that no density has.
    center = math.log10(start[1]) if start[1] > 0 else 0.0

    def at(mean: float, nuisance: float) -> float:
        return float(objective(np.array([[mean], [nuisance]]))[0])

    def profile(mean: float) -> tuple[float, float]:
        if frozen:
            return start[1], at(mean, start[1])
        ends = center - _NUISANCE_DECADES, center + _NUISANCE_DECADES
        power = _lowest(lambda power: at(mean, 10.0**power), *ends, 1e-10)
        return 10.0**power, at(mean, 10.0**power)

    most = 10 * start[0] if math.isinf(upper) else min(10 * start[0], upper)
    mean = _lowest(lambda m: profile(m)[1], max(start[0] / 10, 0.0), most, 1e-10 * start[0])
    nuisance, best = profile(mean)

    def excess(m: float) -> float:
        return profile(m)[1] - best - _RISE

    ends = _crossing(excess, mean, 0.0, 0.5), _crossing(excess, mean, upper, 2.0)
    return MeanFit(mean, *ends, nuisance)


def _lowest(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    options = {"xatol": tolerance}
    found: Any = minimize_scalar(function, bounds=(low, high), method="bounded", options=options)
    return float(found.x)


def _crossing(excess: Callable[[float], float], mean: float, bound: float, factor: float) -> float:
    """Return the root of `excess` between mean and bound, by growing steps from the mean."""
    inner = mean
    while True:
        outer = inner * factor
        passed = outer <= bound if factor < 1 else outer >= bound
        if passed or outer < _SMALLEST:
            outer = math.nextafter(bound, mean)
            if excess(outer) < 0:
                return bound
        if excess(outer) >= 0:
            root: Any = brentq(excess, inner, outer, xtol=1e-12 * mean)
            return float(root)
        inner = outer


def gamma_p_value(steps: np.ndarray, samples: int = 2000) -> float:
    """Return p of the gamma density of largest likelihood, by Kolmogorov and Smirnov's statistic.

    As the density is fitted to the same steps, the distribution of the statistic is simulated
    (Lilliefors 1967, On the Kolmogorov-Smirnov Test for Normality with Mean and Variance Unknown):
    p is the share of samples of the density, each with a fit of its own, that fit worse than the
    steps do. It is NaN for too few steps.
    """
    if len(np.unique(steps)) < _FEWEST_STEPS or np.any(steps <= 0):
        return math.nan
    own = _statistic(steps[None, :])[0]
    shape = gamma_shape(steps[None, :])[0]
    drawn = np.random.default_rng(0).gamma(shape, size=(samples, len(steps)))
    # A draw of a tiny shape may round to 0, which has no logarithm.
    worse = np.sum(_statistic(np.maximum(drawn, np.finfo(float).tiny)) >= own)
    return float((1 + worse) / (1 + samples))


def beta_p_value(errors: np.ndarray) -> float:
    """Return p of the fitted beta density by Kolmogorov and Smirnov's test of doubled errors.

    It is NaN for fewer than two, or equal, errors.
    """
    values = np.clip(errors, MARGIN, LARGEST - MARGIN)
    if len(values) < 2 or np.ptp(values) <= MARGIN:
        return math.nan
    fit = mean_sparsity(values, "scaled")
    if not (0 < fit.mean < LARGEST and math.isfinite(fit.nuisance)):
        return math.nan
    density = beta(2 * fit.mean * fit.nuisance, (1 - 2 * fit.mean) * fit.nuisance)
    return float(kstest(2 * values, density.cdf).pvalue)


def gamma_shape(values: np.ndarray) -> np.ndarray:
    """Return the shape of largest likelihood per row: log k - digamma(k) = log mean - mean log."""
    excess = np.log(values.mean(axis=1)) - np.log(values).mean(axis=1)
    shape = (3 - excess + np.sqrt((excess - 3) ** 2 + 24 * excess)) / (12 * excess)
    for _ in range(_NEWTON_STEPS):
        off = np.log(shape) - digamma(shape) - excess
        shape = 1 / (1 / shape + off / (shape**2 * (1 / shape - polygamma(1, shape))))
    return shape


def _statistic(values: np.ndarray) -> np.ndarray:
    """Return the largest distance of the sample's and the fitted distribution function per row."""
    shape = gamma_shape(values)[:, None]
    ordered = np.sort(values, axis=1)
    fitted = gammainc(shape, ordered * shape / values.mean(axis=1, keepdims=True))
    n = values.shape[1]
    above = np.arange(1, n + 1) / n - fitted
    return np.maximum(above, 1 / n - above).max(axis=1)


_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188)
_DIRECT_BELOW = 15
_NEAR = 0.1
_FEW = 100
_ODD = np.arange(3.0, 23.0, 2)[:, None]
"""Denominators of the terms of the series; below `_NEAR`, later terms are lost in rounding."""


def stirling_error(n: float) -> float:
    """Return log Gamma(n + 1) less its Stirling approximation (n + 1/2) log n - n + log(2 pi)/2."""
    if n <= _DIRECT_BELOW:
        return float(gammaln(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TWO_PI)
    series = 0.0
    for coefficient in reversed(_STIRLING):
        series = coefficient - series / (n * n)
    return series / n


def deviance(k: np.ndarray | float, mean: np.ndarray) -> np.ndarray:
    """Return k log(k/m) + m - k for every `mean` m; by its series in (k-m)/(k+m) where k ~ m."""
    difference = k - mean
    ratio = difference / (k + mean)
    near = np.abs(ratio) < _NEAR
    count = np.count_nonzero(near)
    if not count:
        return k * np.log(k / mean) + mean - k
    flat = (part.reshape(-1) for part in (difference * ratio, 2 * k * ratio, ratio * ratio))
    total = _series(*flat).reshape(mean.shape)
    if count == near.size:
        return total
    return np.where(near, total, k * np.log(k / mean) + mean - k)


def _series(total: np.ndarray, power: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return total + power (square/3 + square²/5 + ...), added from the left.

    The order decides the last digits, so it is the same for few numbers, which two calls of NumPy
    add faster, and for many, for which these would be slow.
    """
    if total.size > _FEW:
        for odd in _ODD:
            power = power * square
            total = total + power / odd
        return total
    terms = np.empty((1 + len(_ODD), total.size))
    terms[0], terms[1:] = power, square
    np.multiply.accumulate(terms, out=terms)
    terms[1:] /= _ODD
    terms[0] = total
    return np.add.accumulate(terms)[-1]


def log_gamma_density(x: np.ndarray, shapes: Sequence[float], rates: Sequence[float]) -> np.ndarray:
    """Return a row of log Gamma(shape, rate) at x > 0 for every shape and its rate.

    It is log(rate * Poisson(shape - 1; rate x)).
    """
    scales = [1 / rate for rate in rates]
    means = x / _column(scales)
    if max(shapes) < 1:
        return _log_poisson(shapes, means) + np.log(_column(shapes) / x)
    if min(shapes) > 1:
        logs = _column([math.log(scale) for scale in scales])
        return _log_poisson([shape - 1 for shape in shapes], means) - logs
    if len(shapes) == 1:
        return -means - math.log(scales[0])
    rows = zip(shapes, rates, strict=True)
    return np.concatenate([log_gamma_density(x, [shape], [rate]) for shape, rate in rows])


def _log_poisson(k: Sequence[float], mean: np.ndarray) -> np.ndarray:
    constant = _column([-0.5 * math.log(2 * math.pi * each) for each in k])
    error = _column([-stirling_error(each) for each in k])
    return constant + (error - deviance(_column(k), mean))


def log_beta_density(x: np.ndarray) -> Callable[[Sequence[float], Sequence[float]], np.ndarray]:
    """Return the function of shapes a and b that has a row of log Beta(a, b) at 0 < x < 1 for each.

    It is minus infinity where a or b is 0, because all mass is at a bound.

    log f = log(a b / (2 pi v))/2 + delta(v) - delta(a) - delta(b)
            - D(a, v x) - D(b, v (1-x)) - log(x (1-x)),    v = a + b
    """
    both = np.array([x, 1 - x])[:, None]
    log_x, log_rest = np.log(x), np.log1p(-x)

    def inside(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
        shapes = np.array([a, b])[..., None]
        distance = deviance(shapes, (shapes[0] + shapes[1]) * both)
        constant = _column([_beta_constant(*pair) for pair in zip(a, b, strict=True)])
        return constant - (distance[0] + distance[1]) - log_x - log_rest

    def density(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
        if all(a) and all(b):
            return inside(a, b)
        spread = [i for i, pair in enumerate(zip(a, b, strict=True)) if all(pair)]
        rows = np.full((len(a), len(x)), -np.inf)
        if spread:
            rows[spread] = inside([a[i] for i in spread], [b[i] for i in spread])
        return rows

    return density


def _beta_constant(a: float, b: float) -> float:
    v = a + b
    constant = 0.5 * math.log(a * b / (2 * math.pi * v))
    return constant + (stirling_error(v) - stirling_error(a) - stirling_error(b))


def _column(numbers: Sequence[float]) -> np.ndarray:
    return np.array(numbers)[:, None]
