"""Fuzz every target for so many seconds each: `python -m fuzz 60` (in tests/), `make fuzz`.

With atheris (`pip install atheris`: Linux, CPython) inputs are led by coverage, and what leads to
new places is kept in the folder of --keep; without it they are mutations of the corpus. An input
that ends in anything but an answer or a sentence is written there too, and ends the run.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"  # a folder for each target


def by_coverage(name: str, seconds: int, keep: Path) -> None:
    """Let atheris search; it ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["lacunet"]):
        from fuzz import targets
    limits = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-verbosity=0"]
    arguments = [sys.argv[0], *limits, f"-artifact_prefix={keep}/", "-print_final_stats=1"]
    atheris.Setup([*arguments, str(keep), str(CORPUS / name)], targets.TARGETS[name])
    atheris.Fuzz()


def by_mutation(name: str, seconds: int, keep: Path) -> None:
    """Try mutations until the time is up."""
    from fuzz.mutations import mutated
    from fuzz.targets import TARGETS, seeds

    ends, tried = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        for data in mutated(seeds(name), 100, tried):
            (keep / "last").write_bytes(data)
            TARGETS[name](data)
            tried += 1
    (keep / "last").unlink(missing_ok=True)
    sys.stderr.write(f"{name}: {tried:,} inputs by mutation\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("seconds", type=int, help="of each target")
    parser.add_argument("targets", nargs="*", default=sorted(p.name for p in CORPUS.iterdir()))
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--alone", action="store_true", help="one target, in this process")
    arguments = parser.parse_args()
    if arguments.alone:
        (name,) = arguments.targets
        (arguments.keep / name).mkdir(parents=True, exist_ok=True)
        led = importlib.util.find_spec("atheris") is not None
        (by_coverage if led else by_mutation)(name, arguments.seconds, arguments.keep / name)
        return
    for name in arguments.targets:  # each in a process of its own: it may take the process with it
        words = [sys.executable, "-m", "fuzz", str(arguments.seconds), name, "--alone"]
        done = subprocess.run([*words, "--keep", str(arguments.keep)], check=False)
        if done.returncode:
            sys.exit(f"{name}: an input ended in a defect; it is in {arguments.keep / name}")


if __name__ == "__main__":
    main()
