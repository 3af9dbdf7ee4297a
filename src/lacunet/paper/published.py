"""The numbers that CH96 printed."""

# Table 1: Δc = states chosen by a score − states chosen by Laplace, (mean, sd) over 5 data sets.
TABLE1: dict[tuple[int, int, int], dict[str, tuple[float, float]]] = {
    panel: {"cs": cs, "mled": mled, "draper": draper, "bic": bic}
    for panel, cs, mled, draper, bic in (
        ((8, 4, 400), (0, 0), (0.4, 1.5), (0, 0), (-0.2, 0.4)),
        ((16, 4, 400), (0.2, 0.4), (-0.2, 0.8), (0.2, 0.4), (-0.8, 0.4)),
        ((32, 4, 400), (0, 0), (0, 0), (0, 0), (-0.4, 0.5)),
        ((64, 4, 400), (0, 0), (0, 0), (0, 0), (-0.2, 0.4)),
        ((64, 32, 400), (16.2, 1.5), (16.2, 1.5), (-2.2, 2.0), (-6.0, 2.7)),
        ((64, 16, 400), (5.0, 6.4), (5.0, 6.4), (-1.6, 1.1), (-3.0, 1.4)),
        ((64, 8, 400), (0.8, 0.8), (0.8, 0.8), (0, 0), (-1.0, 1.0)),
        ((32, 4, 100), (0.6, 0.9), (0.6, 0.9), (0, 0), (-0.6, 0.5)),
        ((32, 4, 200), (0.2, 0.4), (0.2, 0.4), (0, 0), (-0.6, 0.5)),
        ((32, 4, 800), (0, 0), (0, 0), (0, 0), (0, 0)),
    )
}

# Table 2: seconds on a 100 MHz Pentium, n = 64, c = 32, N = 400, by states of the test model.
TABLE2: dict[int, dict[str, float]] = {
    states: {"em": em, "laplace": laplace, "cs": cs, "mled": mled, "draper": cs, "bic": cs}
    for states, em, laplace, cs, mled in (
        (26, 500, 2800, 2, 0.06),
        (27, 580, 3000, 2, 0.07),
        (28, 590, 3300, 2, 0.07),
        (29, 650, 3600, 2, 0.08),
        (30, 680, 3900, 2, 0.08),
        (31, 680, 4200, 2, 0.08),
        (32, 530, 4600, 2, 0.08),
        (33, 760, 4900, 2, 0.08),
        (34, 810, 5500, 2, 0.08),
        (35, 790, 5900, 3, 0.08),
        (36, 870, 6700, 3, 0.08),
    )
}

CONVERGED = (549, 550)  # runs that met the test after 200 iterations, of all
REALITY = (26.0, 33.0)  # Δm of §5, mean and sd over five repetitions
