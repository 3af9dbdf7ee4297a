"""Draw the README's picture: evidence of the carcinoma data, and the classes that it chooses."""

from pathlib import Path

import matplotlib.pyplot as plt

import lacunet
from lacunet import plots

found = lacunet.select(lacunet.load_dataset("carcinoma"), range(2, 7), evidence=True)
with plots.paper_style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    plots.plot_evidence(found, ax=left)
    plots.plot_profiles(found.best.fit, ax=right)
    figure.savefig(Path(__file__).with_name("carcinoma.png"), dpi=140)
