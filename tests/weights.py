"""Print what the package and each extra weigh, in MB of unpacked wheels: for `make weights`.

Wheels are downloaded, not installed; of an extra those count that the package does without.
"""

import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 1e6


def requirements() -> dict[str, list[str]]:
    """What the package and its extras ask for; those that only gather others are left out."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"].items()
    required = {extra: names for extra, names in extras if not any("lacunet[" in x for x in names)}
    return {"lacunet": project["dependencies"], **required}


def installed_size(wheel: Path) -> int:
    """Bytes of a wheel's files, unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def wheels(asked: Sequence[str], folder: Path) -> dict[str, int]:
    """Download wheels, and give the size of each, by the name of its project."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    command = [*pip, "--quiet", "download", "--only-binary", ":all:", "--dest", str(folder), *asked]
    subprocess.run(command, check=True)
    return {w.name.partition("-")[0].lower(): installed_size(w) for w in folder.glob("*.whl")}


def main() -> None:
    """Print a table in Markdown."""
    every = requirements()
    sys.stdout.write("| extra | MB | mostly |\n|---|---|---|\n")
    core: dict[str, int] = {}
    for extra, names in every.items():
        with tempfile.TemporaryDirectory() as folder:
            result = wheels([*every["lacunet"], *names], Path(folder))
        core = core or result
        more = result if extra == "lacunet" else {n: s for n, s in result.items() if n not in core}
        largest = sorted(more, key=more.__getitem__, reverse=True)[:3]
        mostly = ", ".join(f"{name} {more[name] / MEGABYTE:.0f}" for name in largest)
        sys.stdout.write(f"| {extra} | {sum(more.values()) / MEGABYTE:.0f} | {mostly} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
