"""Marginal likelihoods with 60 digits, written from their formulas: an oracle for any scale."""

from decimal import Decimal, getcontext

getcontext().prec = 60
# B_2n/(2n(2n − 1)) of Stirling's series
BERNOULLI = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)]
BERNOULLI += [(43867, 798), (-174611, 330)]
LOG_2PI = (2 * Decimal("3.14159265358979323846264338327950288419716939937510582097494459")).ln()


def log_gamma(x):
    """Log Γ(x), x > 0: far out by Stirling's series, and down by Γ(x + 1) = x Γ(x)."""
    x, down = Decimal(x), Decimal(1)
    while x < 200:
        down *= x
        x += 1
    result = (x - Decimal("0.5")) * x.ln() - x + LOG_2PI / 2
    for n, (a, b) in enumerate(BERNOULLI, start=1):
        result += Decimal(a) / b / (2 * n * (2 * n - 1)) / x ** (2 * n - 1)
    return result - down.ln()


def exactly(values):
    """Floats as they are, to the last digit."""
    return [Decimal(float(x)) for x in values]


def log_poisson(values, shape="1.01"):
    """Counts with a Gamma prior of their rate around their own mean."""
    x, a = exactly(values), Decimal(shape)
    n, total = len(x), sum(exactly(values))
    b = a * n / total
    result = a * b.ln() - log_gamma(a) + log_gamma(a + total) - (a + total) * (b + n).ln()
    return result - sum(log_gamma(v + 1) for v in x)


def log_binomial(values, alpha="1"):
    """Ordered answers from the lowest to the highest value, with a Beta prior."""
    x, a = exactly(values), Decimal(alpha)
    low = min(x)
    most, up = max(x) - low, [v - low for v in x]
    below, above = sum(most - v for v in up), sum(up)

    def log_beta(p, q):
        return log_gamma(p) + log_gamma(q) - log_gamma(p + q)

    ways = sum(log_gamma(most + 1) - log_gamma(v + 1) - log_gamma(most - v + 1) for v in up)
    return log_beta(a + above, a + below) - log_beta(a, a) + ways


def log_gaussian(values, mean="0", weight="0.1", degrees="3", scale="1"):
    """Numbers with a normal-inverse-gamma prior, in their own mean and standard deviation."""
    x = exactly(values)
    n = len(x)
    centre = sum(x) / n
    sd = (sum((v - centre) ** 2 for v in x) / n).sqrt()
    z = [(v - centre) / sd for v in x]
    m, kappa, a, b = (Decimal(t) for t in (mean, weight, degrees, scale))
    a, b = a / 2, b / 2
    average = sum(z) / n
    squares = sum((v - average) ** 2 for v in z)
    after = b + squares / 2 + kappa * n * (average - m) ** 2 / (2 * (kappa + n))
    more = a + Decimal(n) / 2
    result = log_gamma(more) - log_gamma(a) + a * b.ln() - more * after.ln()
    return result + (kappa / (kappa + n)).ln() / 2 - n * LOG_2PI / 2 - n * sd.ln()
