"""No wheel that Lacunet needs links against a library that a minimal machine may lack.

Of what manylinux allows (PEP 600), libraries of X11, OpenGL and GLib are left out: they are absent
on machines without a desktop.
"""

import importlib.metadata as metadata
import re
import struct
import sys
import tomllib
from itertools import chain
from pathlib import Path, PurePath

import pytest
from packaging.requirements import Requirement

# Of every Linux that has glibc, and of its compiler; libz comes with Python itself.
ALLOWED = {
    "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1",
    "libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libutil.so.1", "libz.so.1",
}  # fmt: skip
EXTRAS = ("dask", "files", "networkx", "sklearn", "word")
# Threads of Numba that it loads if they are there; Lacunet has its own.
UNUSED = re.compile(r"numba/np/ufunc/(omppool|tbbpool)\.")
DYNAMIC, LOADED = 2, 1  # kinds of segments
NEEDED, NAMES = 1, 5  # kinds of entries of the first

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's format")


def needed(path):
    """Names of the libraries that a shared object of 64 bits needs: entries DT_NEEDED of ELF."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return set()
    (first,), (size, count) = (
        struct.unpack_from("<Q", data, 32),
        struct.unpack_from("<HH", data, 54),
    )
    heads = [struct.unpack_from("<IIQQQQ", data, first + k * size) for k in range(count)]
    at = [
        (address, place, length) for kind, _, place, address, _, length in heads if kind == LOADED
    ]
    entries = [
        struct.unpack_from("<QQ", data, entry)
        for kind, _, place, _, _, length in heads
        if kind == DYNAMIC
        for entry in range(place, place + length, 16)
    ]
    for tag, names in entries:
        if tag == NAMES:
            base = next(p + names - a for a, p, length in at if a <= names < a + length)
            starts = [base + value for kind, value in entries if kind == NEEDED]
            return {data[s : data.index(b"\0", s)].decode() for s in starts}
    return set()


def required(extras):
    """Every distribution that the package and some extras need, as far as it is installed."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    requirements = [r for extra in extras for r in project["optional-dependencies"][extra]]
    expected = [Requirement(text) for text in (*project["dependencies"], *requirements)]
    result, waiting = set(), [(r.name, extra) for r in expected for extra in {"", *r.extras}]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in result:
            try:
                texts = metadata.distribution(name).requires or ()
            except metadata.PackageNotFoundError:
                continue
            result.add((name, extra))
            for expected in map(Requirement, texts):
                if expected.marker is None or expected.marker.evaluate({"extra": extra}):
                    waiting += [(expected.name, e) for e in {"", *expected.extras}]
    return sorted({name for name, _ in result})


def shared_objects(name):
    files = metadata.distribution(name).files or ()
    return [Path(f.locate()) for f in files if re.search(r"\.so(\.|$)", PurePath(f).name)]


def outside(name):
    """Shared objects of a distribution, and what they need from elsewhere that may be absent."""
    libraries = shared_objects(name)
    brought = {path.name for path in libraries}
    for path in libraries:
        if path.is_file() and not UNUSED.search(path.as_posix()):
            yield from ((path.name, lacking) for lacking in needed(path) - brought - ALLOWED)


@pytest.mark.parametrize("name", required(EXTRAS))
def test_wheels_bring_their_libraries(name):
    assert not list(outside(name))


def test_all_that_is_needed_is_looked_at():
    names = required(EXTRAS)
    assert {"numpy", "scipy", "numba", "llvmlite", "polars", "loky"} <= set(names)
    looked = list(chain.from_iterable(shared_objects(name) for name in names))
    assert len(looked) > 100
    assert any("libstdc++.so.6" in needed(path) for path in looked)
