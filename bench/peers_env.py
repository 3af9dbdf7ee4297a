"""An environment of their own for the peers: made once, reused, no dependency of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-peers"
REQUIREMENTS = ROOT / "bench" / "peers" / "requirements.txt"
POLCA_NEEDS = (3, 12)
INSTALL_AT_MOST = 300  # seconds

# A finished release with venv and the ordinary interpreter, else nothing: wheels exist for those.
PROBE = """
import ensurepip, sys, sysconfig, venv
if sys.version_info.releaselevel == "final" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(*sys.version_info[:2])
"""


@dataclass(frozen=True)
class PeersEnv:
    """A Python in which run_peer.py runs, and which peers it can have."""

    python: Path
    missing: dict[str, str]  # peer: why it is not there


def peers_env() -> PeersEnv | str:
    """Give the environment, making it if need be; or say in a sentence why there is none."""
    python = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = FOLDER / ".installed"
    if not (stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text() and python.exists()):
        reason = _make(python)
        if reason:
            return reason
        stamp.write_text(REQUIREMENTS.read_text())
    version = _version(python) or (0, 0)
    if version >= POLCA_NEEDS:
        return PeersEnv(python, {})
    has, needs = (".".join(map(str, v)) for v in (version, POLCA_NEEDS))
    return PeersEnv(
        python,
        {
            "polca": f"it needs Python {needs} or newer, the peers' environment has {has}; install "
            f"one, remove {FOLDER.name} and run again"
        },
    )


def _make(python: Path) -> str | None:
    """Try the newest Python first, older ones where its packages cannot be had."""
    reason = "no Python that can make a virtual environment was found"
    for base in _pythons():
        print(f"making the peers' environment with Python {_spoken(base)} (once)", file=sys.stderr)
        shutil.rmtree(FOLDER, ignore_errors=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        try:
            for command in ([base, "-m", "venv", FOLDER], [*pip, "install", "-r", REQUIREMENTS]):
                subprocess.run(
                    command, check=True, capture_output=True, text=True, timeout=INSTALL_AT_MOST
                )
        except subprocess.CalledProcessError as error:
            said = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
            reason = f"the peers could not be installed: {said[-1] if said else 'no reason given'}"
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = f"the peers could not be installed: {type(error).__name__}"
        else:
            return None
        print(f"  {reason}", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return reason


def _pythons() -> Iterator[Path]:
    """The newest two that polca can use, then the one that runs this."""
    found: dict[tuple[int, int], Path] = {}
    for path in _candidates():
        version = _version(path)
        if version:
            found.setdefault(version, path)
    able = sorted((v for v in found if v >= POLCA_NEEDS), reverse=True)
    yield from (found[v] for v in able[:2])
    if sys.version_info[:2] not in able[:2]:
        yield Path(sys.executable)


def _candidates() -> Iterator[Path]:
    """Interpreters on the path, and where pyenv and uv keep theirs."""
    yield Path(sys.executable)
    folders = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path.home() / ".local" / "share" / "uv" / "python"
    for kept in (pyenv, uv):
        folders += sorted(kept.glob("*/bin"))
    for folder in folders:
        yield from (p for p in sorted(folder.glob("python3.*")) if p.suffix[1:].isdigit())


def _version(python: Path) -> tuple[int, int] | None:
    try:
        asked = subprocess.run(
            [python, "-c", PROBE], check=False, capture_output=True, text=True, timeout=20
        )
        major, minor = map(int, asked.stdout.split())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return major, minor


def _spoken(python: Path) -> str:
    return ".".join(map(str, _version(python) or ("?",)))
