"""What published programs reached on the folds of each data set.

All by F. Rodriguez-Sanchez with incremental latent forests, run 1: mean over the folds of
log p(test rows), nats; of numbers, densities in the file's own units.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataSet:
    """A file, and what published programs reached on its folds."""

    name: str
    published: float  # latent classes by EM; of numbers, the best of latent classes and CIL
    best: float  # the best of all programs,
    by: str  # and which: MSPN sum-product networks; EAST, GEAST latent trees; IL, CIL forests
    kind: str = "discrete"  # of its columns: discrete, mixed or continuous
    categories: tuple[str, ...] = ()  # the columns of a mixed file that are no numbers

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.kind}-{self.name}.csv"

    def is_number(self, column: str) -> bool:
        """Whether a column holds measurements."""
        return self.kind != "discrete" and column.lower() not in self.categories


ALARM = DataSet("alarm", -2642.6, -1180.0, "EAST")
SETS = (
    DataSet("hayes_roth", -89.7, -88.9, "MSPN"),
    DataSet("house_building", -293.3, -293.3, "LCM"),
    DataSet("vote", -188.9, -174.3, "MSPN"),
    DataSet("spect_heart", -317.1, -288.3, "EAST"),
    DataSet("car_evaluation", -3287.6, -1503.8, "IL"),
    ALARM,
    DataSet("mushroom", -5921.3, -5519.6, "EAST"),
    DataSet("coil_42", -6952.7, -6269.0, "CIL"),
)

AUTOS = (
    "make fuel-type aspiration num-of-doors body-style drive-wheels engine-type num-of-cylinders "
    "fuel-system symboling"
)
SURGERY = "dgn pre6 pre7 pre8 pre9 pre10 pre11 pre14 pre17 pre30 risk1yr"
NUMBER_SETS = (
    DataSet("iris", -51.3, -36.7, "GEAST", "continuous"),
    DataSet("alcohol", -498.4, -493.3, "IL", "continuous"),
    DataSet("wine", -398.1, -360.0, "GEAST", "continuous"),
    DataSet("glass", -33.6, 75.0, "GEAST", "continuous"),
    DataSet("buddymove", -662.2, -662.2, "CIL", "continuous"),
    DataSet("haberman", -278.1, -278.1, "CIL", "mixed", ("class",)),
    DataSet("thoracic_surgery", -566.6, -553.4, "IL", "mixed", tuple(SURGERY.split())),
    DataSet("forest_fires", -1851.9, -1851.9, "CIL", "mixed", ("month", "day")),
    DataSet("autos", -1289.3, -1289.3, "LCM", "mixed", tuple(AUTOS.split())),
    DataSet("wdbc", 615.8, 1168.4, "GEAST", "continuous"),
    DataSet("segment", -8562.2, -8562.2, "CIL", "mixed", ("class",)),
)
