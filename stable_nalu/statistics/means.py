r"""The means of the papers: the step solved at, and the sparsity error.

**Solved at** is the mean first step at which a run solves its task. Its gamma density is written
in mean mu and variance s2, with shape mu²/s2 and rate mu/s2. There are three fits:

    published   what the papers print. The variance starts at the sample variance and hardly moves,
                so the mean is the sample mean or, in skewed groups, a place that the profile
                walk came upon; twice the sample mean and more has been printed.
    frozen      the variance is the sample variance; the mean maximises the likelihood.
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

A sample has a handful of values, and a fit asks for many densities at once. The number of NumPy
calls decides the time, so the same calls evaluate all densities, one in each row.

**The published fits** are `mle2` of the R package bbmle, with its profile interval: fit, take
standard errors from the second derivatives, walk the profile of the mean; when the walk finds
better parameters, start over from them. The fits seldom converge, because parameters are not
scaled. The published figures are the result all the same, so this follows every step; the maximum
of the likelihood, which `scipy.stats.gamma.fit` and `exact_fit` find, is another.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import digamma, gammainc, gammaln, polygamma
from scipy.stats import beta, chi2, kstest, norm
from threadpoolctl import ThreadpoolController

from .intervals import student
from .setups import GammaFit, SparsityFit

Objective = Callable[[np.ndarray], np.ndarray]
"""From an array with one column of parameters for every place to the values at the places."""
Bounds = Sequence[tuple[float, float]]
"""The lowest and the highest value of every parameter."""

LARGEST = 0.5
"""The largest sparsity error."""
MARGIN = 1e-16
"""How far from their bounds sparsity errors are held, where the beta density is finite."""
_EQUAL_STEPS, _SMALLEST_VARIANCE = 1e-5, 1e-5
_EQUAL_ERRORS, _SMALLEST_V = 1e-10, 1e-5
_DENSITY_LIMIT = 1e6
_FEWEST_STEPS = 11
"""The number of distinct steps below which they have no shape to speak of."""

# Of exact fits.
_RISE = float(chi2.ppf(0.95, df=1)) / 2
_NUISANCE_DECADES, _NEWTON_STEPS, _SMALLEST = 8, 8, 1e-300

# Of the published minimiser.
_EPSILON, _DIFFERENCE = np.finfo(float).eps, 1e-3
_AS_IN_R = {"maxcor": 5, "ftol": 1e7 * _EPSILON, "gtol": 0.0, "maxiter": 100, "maxls": 20}
_MAX_RESTARTS = 10_000
_LIBRARIES = ThreadpoolController()

# Of the walk along the profile.
_FARTHEST = math.sqrt(chi2.ppf(1 - 0.01 / 2, df=2))
_WALK_STEP = _FARTHEST / 5
_MAX_STEPS, _FEW_POINTS, _BETTER_BY = 100, 5, 1e-3
_CLOSER_LOOK = (0.2, 0.4, 0.6, 0.8, 0.9)
_LEVEL = norm.ppf(0.975)

# Of second derivatives.
_SINGULAR, _NEAR_ZERO = math.sqrt(_EPSILON), np.sqrt(_EPSILON / 7e-7)
_RELATIVE_STEP, _ABSOLUTE_STEP, _ROUNDS = 0.1, 1e-4, 4

# Of densities.
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188)
_DIRECT_BELOW, _NEAR = 15, 0.1
_ODD = np.arange(3.0, 23.0, 2)
"""Denominators of the terms of the series; below `_NEAR`, later terms are lost in rounding."""


class MeanFit(NamedTuple):
    """A mean with its 95 % interval, and the other parameter of the density."""

    mean: float
    lower: float
    upper: float
    nuisance: float


def solved_at(steps: np.ndarray, gamma_fit: GammaFit = "published") -> MeanFit:
    """Return the mean step with its interval; `nuisance` is the variance."""
    variance = float(np.var(steps, ddof=1)) if len(steps) > 1 else math.nan
    plain = MeanFit(*student(steps, 0.0), variance)
    if len(steps) < 2 or math.sqrt(variance) <= _EQUAL_STEPS or np.any(steps <= 0):
        return plain
    objective, start = gamma_objective(steps), (float(np.mean(steps)), variance)
    if gamma_fit != "published":
        return exact_fit(objective, start, math.inf, frozen=gamma_fit == "frozen")
    bounds = ((0.0, math.inf), (_SMALLEST_VARIANCE, math.inf))
    return published_fit(objective, start, bounds) or plain


def mean_sparsity(errors: np.ndarray, fit: SparsityFit = "compat") -> MeanFit:
    """Return the mean sparsity error with its interval.

    `nuisance` is v, the sum of the shapes of the beta density.
    """
    values = np.clip(errors, MARGIN, LARGEST - MARGIN)
    v = start_v(values)
    plain = MeanFit(*student(values, 0.0, LARGEST), v)
    if len(values) < 2 or np.std(values, ddof=1) <= _EQUAL_ERRORS:
        return plain
    start = (float(np.mean(values)), v)
    if fit == "scaled":
        return exact_fit(beta_objective(2 * values), start, LARGEST)
    bounds = ((0.0, LARGEST), (_SMALLEST_V, math.inf))
    return published_fit(beta_objective(values), start, bounds) or plain


def start_v(values: np.ndarray) -> float:
    """Return m (1/2 - m) / variance - 1: infinite for equal values, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    return math.inf if variance == 0 else mean * (LARGEST - mean) / variance - 1


def gamma_objective(steps: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mean, variance); it is NaN outside of the domain."""

    def density(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return log_gamma_density(steps, mean**2 / variance, mean / variance)

    return _negative_sum(density, lambda mean, variance: (mean > 0) & (variance > 0))


def beta_objective(values: np.ndarray) -> Objective:
    """Return the negative log-likelihood of (mu, v), which is NaN outside of the domain.

    Log densities are cut to [-1e6, 1e6], as in the papers' code.
    """
    log_density = log_beta_density(values)

    def density(mu: np.ndarray, v: np.ndarray) -> np.ndarray:
        return log_density(2 * mu * v, (1 - 2 * mu) * v).clip(-_DENSITY_LIMIT, _DENSITY_LIMIT)

    return _negative_sum(density, lambda mu, v: (mu >= 0) & (mu <= LARGEST) & (v > 0))


def _negative_sum(
    density: Callable[..., np.ndarray], inside: Callable[..., np.ndarray]
) -> Objective:
    def objective(parameters: np.ndarray) -> np.ndarray:
        known = inside(*parameters)
        values = np.full(len(known), math.nan)
        values[known] = -density(*parameters[:, known]).sum(axis=1, dtype=np.longdouble)
        return values

    return objective


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


def published_fit(objective: Objective, start: tuple[float, ...], bounds: Bounds) -> MeanFit | None:
    """Fit a negative log-likelihood of (mean, nuisance); return None when the fit fails.

    It fails when the objective is not finite where the minimiser goes, and when the standard
    error of the mean is undefined or 0.
    """
    # For matrices of two rows, threads of the linear algebra do nothing but wait for each other:
    # on busy cores that took a hundred times as long as the fit itself.
    with _LIBRARIES.limit(limits=1, user_api="blas"):
        for _ in range(_MAX_RESTARTS):
            try:
                parameters, value = minimize_in_box(objective, start, bounds)
                second = hessian(objective, parameters)
                if not np.isfinite(second).all():
                    return None
                # Where the scales of the parameters differ by more than 6.7e7, it drops the smaller
                # one: the error is then that of the mean with the other parameter known.
                variance = np.linalg.pinv(second, rcond=_SINGULAR)[0, 0]
                if not variance > 0:
                    return None
                walk = profile(objective, parameters, value, math.sqrt(variance), bounds)
                ends = interval(*walk)
            except NotFiniteError:
                return None
            except BetterFitError as better:
                start = better.args
            else:
                return MeanFit(float(parameters[0]), *ends, float(parameters[1]))
    return None


def hessian(objective: Objective, parameters: np.ndarray) -> np.ndarray:
    """Return the matrix of second derivatives of an objective of two parameters.

    They are central differences, extrapolated by Richardson's method, as `hessian` of the R package
    numDeriv makes them; `scipy.differentiate.hessian` chooses its steps by an error estimate, and
    the steps decide the digits, and whether a small parameter leaves the domain of the density.

    Steps start at a tenth of each parameter and are halved three times. A parameter below
    1.78e-5 gets 1e-4 on top, which carries a small positive one below zero: the derivatives are
    then NaN, and that is how published fits of tiny sparsity errors fail.
    """
    first = np.abs(_RELATIVE_STEP * parameters) + _ABSOLUTE_STEP * (np.abs(parameters) < _NEAR_ZERO)
    one, other = first[:, None] / 2 ** np.arange(_ROUNDS)
    none = np.zeros(_ROUNDS)
    moved = np.block([[one, none, one], [none, other, other]])
    here = parameters[:, None]
    values = objective(np.concatenate([here, here + moved, here - moved], axis=1))
    above, below = values[1:].reshape(2, 3, _ROUNDS)
    of_one, of_other, of_both = above - 2 * values[0] + below
    a, b = _extrapolate(of_one / one**2), _extrapolate(of_other / other**2)
    mixed = _extrapolate((of_both - (a * one**2 + b * other**2)) / (2 * one * other))
    return np.array([[a, mixed], [mixed, b]])


def _extrapolate(estimates: np.ndarray) -> float:
    for order in range(1, len(estimates)):
        weight = 4**order
        estimates = (weight * estimates[1:] - estimates[:-1]) / (weight - 1)
    return float(estimates[0])


class NotFiniteError(Exception):
    """Raised when the objective has no finite value where the minimiser went."""


class BetterFitError(Exception):
    """Raised with parameters whose deviance is lower than the fit's."""


def minimize_in_box(
    objective: Objective, start: Sequence[float] | np.ndarray, bounds: Bounds
) -> tuple[np.ndarray, float]:
    """Return the parameters where the minimiser stops, converged or not, and their objective.

    It is R's `optim(method = "L-BFGS-B")` with its defaults. The algorithm is scipy's; what R has
    of its own is the gradient and when it stops. scipy's gradient has one-sided relative steps
    around 1e-8, which moves the digits, as its defaults do. The parameters are not scaled, so that
    around 1e6 the minimiser stops after one step; this is part of the published figures.
    """
    how: Any = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "options": _AS_IN_R}
    begin = np.array(start, dtype=float)
    result = minimize(lambda place: value_and_gradient(objective, place, bounds), begin, **how)
    return result.x, float(result.fun)


def value_and_gradient(
    objective: Objective, parameters: np.ndarray, bounds: Bounds
) -> tuple[float, np.ndarray]:
    """Return the objective and its central differences over absolute steps of 1e-3.

    The steps are cut short at a bound.
    """
    size = len(bounds)
    places, widths = np.repeat(parameters[:, None], 1 + 2 * size, axis=1), np.empty(size)
    for i, (low, high) in enumerate(bounds):
        value = float(parameters[i])
        above, below = min(value + _DIFFERENCE, high), max(value - _DIFFERENCE, low)
        places[i, 1 + 2 * i], places[i, 2 + 2 * i] = above, below
        widths[i] = _DIFFERENCE if above < high else above - value
        widths[i] += _DIFFERENCE if below > low else value - below
    values = objective(places)
    if not np.isfinite(values).all():
        raise NotFiniteError
    return float(values[0]), (values[1::2] - values[2::2]) / widths


def profile(
    objective: Objective, parameters: np.ndarray, value: float, error: float, bounds: Bounds
) -> tuple[np.ndarray, np.ndarray]:
    """Walk from a fit along the profile likelihood of its first parameter; return places and z.

    This reproduces `profile` and `confint` of bbmle, whose walk decides where the profile is known
    and where an interval has no end. Steps are a fraction of the standard error. At each place the
    other parameter is fitted again, and z, the signed root of twice the rise of the negative
    log-likelihood, is noted. The interval ends where z is -1.96 and 1.96. A side takes whole steps
    until z is far enough out, then what the end of the walk asks for.

    value: the objective at the fit. error: standard error of the first parameter.
    """
    points = [(float(parameters[0]), 0.0)]

    def visit(side: int, place: float) -> float:
        """Return z at a place; NaN where there is no fit."""
        of_other = lambda p: objective(np.array([np.full_like(p[0], place), p[0]]))  # noqa: E731
        try:
            second, lowest = minimize_in_box(of_other, parameters[1:], bounds[1:])
        except NotFiniteError:
            return math.nan
        rise = 2 * (lowest - value)
        if rise < -_BETTER_BY:
            raise BetterFitError(place, float(second[0]))
        points.append((place, side * math.sqrt(max(rise, 0.0))))
        return points[-1][1]

    def at(side: int, step: float) -> float:
        """Return z after so many steps; it is NaN outside the bounds, too."""
        place = float(parameters[0] + side * step * _WALK_STEP * error)
        return visit(side, place) if bounds[0][0] <= place <= bounds[0][1] else math.nan

    for side, bound in zip((-1, 1), bounds[0], strict=True):
        step, z, flat = 1, 0.0, False
        while step < _MAX_STEPS and abs(z) < _FARTHEST and not flat:
            previous, z = z, at(side, step)
            flat = step > 1 and z == previous
            step += not (flat or math.isnan(z))
        if flat:
            continue
        if math.isnan(z) or abs(z) < _FARTHEST:
            for part in _CLOSER_LOOK:
                closer = at(side, step - 1 + part)
                if math.isnan(closer) or abs(closer) > _FARTHEST:
                    break
        elif len(points) < _FEW_POINTS:
            for between in range(1, step - 1):
                at(side, between + 0.5)
        if math.isnan(z) and side * (parameters[0] + side * step * _WALK_STEP * error - bound) > 0:
            visit(side, bound)
    places, levels = np.array(sorted(points)).T
    return places, levels


def interval(places: np.ndarray, levels: np.ndarray) -> tuple[float, float]:
    """Return the places where z is -1.96 and 1.96; NaN for an end that the profile does not reach.

    A spline through the points is evaluated at three times as many places and read backwards
    by linear interpolation; where it does not rise, the points themselves are.
    """
    if len(places) >= 4:
        fine = np.linspace(places[0], places[-1], 3 * len(places))
        # R's `splinefun(method = "fmm")`, after Forsythe, Malcolm and Moler (1977): the third
        # derivative of the first (last) piece is that of the cubic through the first (last) four.
        thirds = (_third_derivative(places[s], levels[s]) for s in (slice(4), slice(-4, None)))
        ends = tuple([(3, third)] for third in thirds)
        smooth = np.asarray(make_interp_spline(places, levels, bc_type=ends)(fine))
        if np.all(np.diff(smooth) > 0):
            places, levels = fine, smooth
    order = np.argsort(levels, kind="stable")
    levels, places, both = levels[order], places[order], np.array([-_LEVEL, _LEVEL])
    found = np.interp(both, levels, places, left=np.nan, right=np.nan)
    return float(found[0]), float(found[1])


def _third_derivative(x: np.ndarray, y: np.ndarray) -> float:
    first = np.diff(y) / np.diff(x)
    second = np.diff(first) / (x[2:] - x[:-2])
    return 6 * (second[1] - second[0]) / (x[3] - x[0])


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


def stirling_error(n: np.ndarray) -> np.ndarray:
    """Return log Gamma(n + 1) less its Stirling approximation (n + 1/2) log n - n + log(2 pi)/2."""
    direct = gammaln(n + 1) - (n + 0.5) * np.log(n) + n - math.log(2 * math.pi) / 2
    series = 0.0
    for coefficient in reversed(_STIRLING):
        series = coefficient - series / (n * n)
    return np.where(n <= _DIRECT_BELOW, direct, series / n)


def deviance(k: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return k log(k/m) + m - k for every `mean` m; by its series in (k-m)/(k+m) where k ~ m.

    The series, 2 k r (r²/3 + r⁴/5 + ...), is added from the left: the order decides the digits.
    """
    difference = k - mean
    ratio = difference / (k + mean)
    near = np.abs(ratio) < _NEAR
    if not near.any():
        return k * np.log(k / mean) + mean - k
    terms = np.empty((1 + len(_ODD), *ratio.shape))
    terms[0], terms[1:] = 2 * k * ratio, ratio * ratio
    np.multiply.accumulate(terms, out=terms)
    terms[1:] /= _ODD.reshape(-1, *[1] * ratio.ndim)
    terms[0] = difference * ratio
    total = np.add.accumulate(terms)[-1]
    return total if near.all() else np.where(near, total, k * np.log(k / mean) + mean - k)


def log_gamma_density(x: np.ndarray, shapes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return a row of log Gamma(shape, rate) at x > 0 for every shape and its rate.

    It is log(rate * Poisson(shape - 1; rate x)).
    """
    shape, scale = shapes[:, None], 1 / rates[:, None]
    mean, falling = x / scale, shape < 1
    k = np.where(falling, shape, shape - 1)
    known = np.where(k == 0, 1, k)
    poisson = -0.5 * np.log(2 * math.pi * known) + (-stirling_error(known) - deviance(known, mean))
    rest = np.where(falling, np.log(shape / x), -np.log(scale))
    return np.where(k == 0, -mean, poisson) + rest


def log_beta_density(x: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the function of shapes a and b that has a row of log Beta(a, b) at 0 < x < 1 for each.

    It is minus infinity where a or b is 0, because all mass is at a bound.

    log f = log(a b / (2 pi v))/2 + delta(v) - delta(a) - delta(b)
            - D(a, v x) - D(b, v (1-x)) - log(x (1-x)),    v = a + b
    """
    both = np.array([x, 1 - x])[:, None]
    log_x, log_rest = np.log(x), np.log1p(-x)

    def density(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        shapes = np.array([a, b])[..., None]
        known = np.where(shapes == 0, 1, shapes)
        v = known[0] + known[1]
        distance = deviance(known, v * both)
        error = stirling_error(np.array([v, *known]))
        constant = 0.5 * np.log(known[0] * known[1] / (2 * math.pi * v))
        constant = constant + (error[0] - error[1] - error[2])
        found = constant - (distance[0] + distance[1]) - log_x - log_rest
        return np.where(shapes.all(axis=0), found, -math.inf)

    return density
