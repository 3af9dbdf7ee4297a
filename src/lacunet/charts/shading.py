"""How dark the mean of a number is drawn."""

import numpy as np

from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.number_profiles import NumberProfile

FAR = 2.0  # standard deviations of everybody that a mean is off at the ends of the shading


def shading(number: NumberProfile) -> FloatArray:
    """(K + 1,) from 0 to 1, half where a mean is that of everybody."""
    return np.clip(0.5 + number.standing / (2.0 * FAR), 0.0, 1.0)
