"""Draw the README's picture: how many classes the carcinoma data have, and what they look like."""

from pathlib import Path

import matplotlib.pyplot as plt

import lacunet
from lacunet import plots

selection = lacunet.select(lacunet.load_dataset("carcinoma"), range(1, 7))
with plots.paper_style():
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(2, 3)
    )
    plots.plot_posterior(selection, ax=left)
    plots.plot_profiles(selection.best.fit, ax=right)
    figure.savefig(Path(__file__).with_name("carcinoma.png"), dpi=140)
