"""Is measuring the declared tables good enough? The optimum over all ways to measure marginals says: within 2 %.

ResidualPlanner (arXiv 2305.08175) minimises a weighted sum of the variances of marginals over all Gaussian mechanisms. Its optimum
has a closed form: along the subspace U (contrasts along the axes of U, of dimension d_U) precision p_U costs p_U d_U / N of the
budget, and a marginal T with n_T base cells in a cell has the total variance sum over U in T of n_T d_U / p_U. So the optimum is
(sum over U of d_U sqrt(b_U / N))^2 with b_U = sum over T containing U of weight_T n_T. We measure tables, not subspaces: precision of U is the
sum over measured tables that contain it, which is less free.
"""

import itertools
import math

import numpy as np
import pytest

from noisegate.margins import Design, MeasuredTable, TableShape

AXES = ("a", "b", "c", "d")


def subsets(axes):
    return [c for r in range(len(axes) + 1) for c in itertools.combinations(axes, r)]


def residual_planner(shape, weights):
    """The least weighted sum of variances, budget 1, over all Gaussian mechanisms."""
    total = 0.0
    for inside in subsets(shape.axes):
        dimension = math.prod(shape.size(axis) - 1 for axis in inside)
        b = sum(w * shape.terms(t) for t, w in weights.items() if set(inside) <= set(t))
        total += dimension * math.sqrt(b / shape.cells)
    return total**2


def objective(shape, weights, variances):
    """The same sum for tables that are measured with noise of these variances and reconciled."""
    design = Design(
        shape=shape, measured=tuple(MeasuredTable(table=t, variance=v) for t, v in variances.items())
    )
    return sum(
        w * math.prod(shape.lengths(t)) * design.variance(dict.fromkeys(t, 1)) for t, w in weights.items()
    )


def best_shares(shape, weights, tables):
    """Shares of rho that make the objective least, by the multiplicative step for such designs."""
    spaces = subsets(shape.axes)
    sees = np.array([[shape.terms(t) if set(u) <= set(t) else 0.0 for u in spaces] for t in tables])
    need = np.array(
        [
            math.prod(shape.size(a) - 1 for a in u)
            * sum(w * shape.terms(t) for t, w in weights.items() if set(u) <= set(t))
            for u in spaces
        ]
    )
    shares = np.ones(len(tables)) / len(tables)
    for _ in range(2000):
        precision = shares @ sees
        shares = shares * np.sqrt(sees @ (need / precision**2))
        shares /= shares.sum()
    return {t: max(float(s), 1e-9) for t, s in zip(tables, shares, strict=True)}


def workloads():
    rng = np.random.default_rng(17)
    for _ in range(12):
        axes = AXES[: int(rng.integers(2, 5))]
        shape = TableShape(
            axes=axes, sizes=tuple(int(n) for n in rng.choice([2, 3, 4, 7, 14, 24, 96], len(axes)))
        )
        chosen = rng.choice(len(subsets(axes)), int(rng.integers(1, 4)), replace=False)
        tables = {subsets(axes)[place] for place in chosen} | {axes}
        # Every table counts about alike: weights over the size of its variance.
        yield shape, {t: float(np.exp(rng.normal())) / shape.terms(t) for t in sorted(tables)}


@pytest.mark.parametrize(("shape", "weights"), list(workloads()))
def test_gaussian_noise_in_the_declared_tables_reaches_the_optimum_for_marginals(shape, weights):
    shares = best_shares(shape, weights, list(weights))
    ours = objective(shape, weights, {t: 1 / share for t, share in shares.items()})
    assert 1 - 1e-9 <= ours / residual_planner(shape, weights) <= 1.02


@pytest.mark.parametrize(("shape", "weights"), list(workloads())[:6])
def test_laplace_noise_in_further_tables_would_gain_less_than_two_percent(shape, weights):
    # For Laplace noise no closed form is known. The yardstick is the best of many searches over all marginals.
    from scipy import optimize

    def cost(tables):
        def at(logits):
            shares = np.exp(logits - logits.max())
            shares = np.maximum(shares / shares.sum(), 1e-6)
            return math.log(
                objective(shape, weights, {t: 2 / s**2 for t, s in zip(tables, shares, strict=True)})
            )

        return at

    def best(tables, starts):
        found = [
            optimize.minimize(cost(tables), start, method="L-BFGS-B", options={"maxiter": 40}).fun
            for start in starts
        ]
        return math.exp(min(found))

    rng, declared, every = np.random.default_rng(1), list(weights), subsets(shape.axes)
    if len(every) > 8:
        pytest.skip("searches over 16 marginals take minutes")
    ours = best(declared, [np.zeros(len(declared)), *rng.normal(size=(3, len(declared)), scale=2)])
    least = best(every, rng.normal(size=(4, len(every)), scale=2))
    assert ours <= 1.02 * least
