"""A device of plain NumPy: the twin of the kernels that read packed rows."""

from types import SimpleNamespace

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.devices.device import DenseRows, Device, DeviceRows


class Twin(Device):
    """Holds rows here, and counts them by their bytes alone."""

    def hold(self, packed):
        return TwinRows(packed)

    def hold_dense(self, rows):
        return DenseRows(np, rows)


class TwinRows(DeviceRows):
    def __init__(self, packed):
        self.packed = packed

    def weights(self, x):
        """(m, K) log weights of the rows: one pattern for each byte."""
        parts = self.packed.parts
        table = np.where((parts >= 0)[:, :, None], x[parts], 0.0).sum(axis=1)
        return table[self.packed.first[:, None] + self.packed.bytes].sum(axis=0)

    def posterior(self, x):
        weights = self.weights(x)
        log_z = logsumexp(weights, axis=1)
        shift = np.where(np.isfinite(log_z), log_z, 0.0)
        return np.exp(weights - shift[:, None]), log_z

    def count(self, rows):
        """(B, K) what the rows that show each block have together."""
        group, shift, mask, value = self.packed.shown.T[:, :, None]
        shown = (self.packed.bytes[group[:, 0]] >> shift) & mask == value
        return shown.astype(float) @ rows

    def expect(self, x):
        result = [self.expect_one(one) for one in x]
        counts, log_lik = zip(*result, strict=True)
        return np.array(counts), np.array(log_lik)

    def expect_one(self, x):
        n, (posterior, log_z) = self.packed.counts, self.posterior(x)
        return self.count(posterior * n[:, None]), float(n[n > 0] @ log_z[n > 0])

    def move(self, x, along):
        posterior, _ = self.posterior(x)
        change = self.weights(along)
        mean = (posterior * change).sum(axis=1, keepdims=True)
        return self.count(self.packed.counts[:, None] * posterior * (change - mean))


class NoDeviceError(Exception):
    """What CUDA raises."""


def fake_cupy(count=1, free=10**9, error=None):
    """A CuPy that has so many devices, and cannot allocate."""

    def counted():
        if error:
            raise NoDeviceError(error)
        return count

    device = SimpleNamespace(
        attributes={"MaxSharedMemoryPerBlockOptin": 232448}, mem_info=(free, 2 * free)
    )
    pool = SimpleNamespace(total_bytes=lambda: 0, used_bytes=lambda: 0)
    runtime = SimpleNamespace(getDeviceCount=counted, CUDARuntimeError=NoDeviceError)
    return SimpleNamespace(
        cuda=SimpleNamespace(runtime=runtime, Device=lambda: device),
        get_default_memory_pool=lambda: pool,
    )
