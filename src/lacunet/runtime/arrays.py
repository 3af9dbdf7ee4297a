"""Names for the types of arrays."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.int32]  # positions inside tables: small, to stay in cache
CodeArray: TypeAlias = NDArray[np.signedinteger]  # coded cells, smallest type; -1 = missing
BoolArray: TypeAlias = NDArray[np.bool_]
