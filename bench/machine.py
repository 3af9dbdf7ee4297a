"""What the numbers were measured on, and with."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Set before NumPy loads, here and in every child. One thread is what all ratios are about.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
PACKAGES = ("lacunet", "numpy", "scipy", "numba", "polars")


def describe() -> dict[str, Any]:
    """Give the machine and the versions; nothing that names a person, a host or a folder."""
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": _memory_gb(),
            "system": f"{platform.system()} {platform.machine()}",
            "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
            "blas": _blas(),
        },
        "threads": 1,
    }


def headline(facts: Mapping[str, Any]) -> str:
    machine, versions = facts["machine"], facts["versions"]
    load = machine["load_before"]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; one thread; "
        + ", ".join(f"{name} {number}" for name, number in versions.items() if name != "blas")
        + ("" if load is None else f"; load average before the run {load:.2f}")
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _blas() -> list[str]:
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded to be listed
    from threadpoolctl import threadpool_info

    return [
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
