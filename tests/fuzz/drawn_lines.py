"""Random command lines: the options of the program, as its commands declare them.

Types and choices are read from the commands; `VALUES` says what texts may hold. A command or an
option that nothing is known of fails a test.
"""

import contextlib
import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import numpy as np
from typer.models import ArgumentInfo, ParameterInfo

from fuzz.tables import draw_table, write_table
from fuzz.values import VALUES, WRONG, Scene
from lacunet.cli.app import COMMANDS
from lacunet.cli.paths import Writes, role_of

BUDGET = 2.0  # seconds of sampling, by a clock that counts its readings
# How often a command is tried; a study, and the demo, which is another command, never.
COMMAND_WEIGHTS = {
    "select": 6,
    "fit": 12,
    "evidence": 5,
    "learn": 5,
    "compare": 4,
    "score": 3,
    "assign": 4,
    "lrt": 2,
    "compare-missing": 2,
    "query": 3,
    "simulate": 2,
    "three-step": 3,
    "random": 1,
    "stack": 0.6,
    "impute": 1,
    "demo": 0,
    "warm-up": 0,
    "paper": 0,
}
NEVER = {"cluster", "workers", "device", "memory", "form", "json"}  # other machines; how to print
ALWAYS = {"starts": ("1", "2", "3"), "threads": ("1",), "budget": (f"{BUDGET:g}s",)}
LIKELY = {
    "columns": 0.25,
    "quick": 0.5,
    "seed": 0.3,
    "target": 0.7,
    "weights": 0.15,
    "of": 0.6,
    "outcomes": 0.5,
    "exclude": 0.04,
    "most": 0.0,
    "sandwich": 0.01,
    "hidden": 0.0,
    "residuals": 0.04,
    "covariates": 0.08,
    "group": 0.06,
    "missing": 0.03,
    "dry_run": 0.03,
}
# Options that have a meaning only with another one, or none with it.
WITH = {
    "hidden": "network",
    "missing_covariates": "covariates",
    "coefficient_sd": "covariates",
    "free": "group",
    "resamples": "edges",
    "most": "hidden",
    "probabilities": "output",
}
LATER = {*WITH, "states", "evidence", "calibrate", "shape", "quick", "target"}
NOT_WITH = {"states": "network", "evidence": "quick", "calibrate": "quick", "shape": "edges"}
MODELS = ("three-step", "score", "assign", "query", "simulate")  # commands that ask a model
RANGES = ("1:2", "1:3", "2", "2,3", "1:4", "1:5:2")  # numbers of classes of `select`
ENDINGS = {
    "report": (".html",),
    "tables": (".csv", ".md", ".tex", ".html"),
    "plot": (".svg", ".png"),
    "probabilities": (".csv", ".parquet"),
    "resume": (".jsonl",),
}
TABLE_ENDINGS, MODEL_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow"), (".json", ".bif", ".xmlbif")


def parameters_of(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Give the options and arguments of a command."""
    result = inspect.signature(command).parameters.values()
    return {p.name: p for p in result if any(isinstance(x, ParameterInfo) for x in _more(p))}


def _more(parameter: inspect.Parameter) -> tuple[Any, ...]:
    return getattr(parameter.annotation, "__metadata__", ())


def _type_of(parameter: inspect.Parameter) -> Any:
    """Give the type of one value."""
    kind = get_args(parameter.annotation)[0]
    while args := [k for k in get_args(kind) if k is not NoneType]:
        kind = args[0]
    return kind


def has_values(parameter: inspect.Parameter) -> bool:
    """Whether it is known here what an option may hold."""
    kind, name = _type_of(parameter), parameter.name
    drawn = kind is bool or isinstance(role_of(parameter), Writes)
    drawn = drawn or (isinstance(kind, type) and issubclass(kind, Enum))
    return drawn or name == "data" or name in VALUES or name in ALWAYS or name in NEVER


def draw_value(command: str, parameter: inspect.Parameter, scene: Scene) -> str:
    """Draw what stands behind an option."""
    kind, name, role = _type_of(parameter), parameter.name, role_of(parameter)
    if isinstance(role, Writes):
        return _output(command, name, role, scene)
    if name == "data":
        return scene.data
    if isinstance(kind, type) and issubclass(kind, Enum):
        return scene.one([x.value for x in kind])
    if name in ALWAYS:
        return scene.one(ALWAYS[name])
    if name == "states" and command == "select":
        return scene.rarely(RANGES, ["3:1", "0", "x"])
    if name == "hidden" and command == "learn":
        return "auto"
    return VALUES[name](scene)


def _output(command: str, name: str, role: Writes, scene: Scene) -> str:
    if scene.rng.random() < 0.06:  # something that is there
        return scene.one([scene.data, "m.json", "link", "parts/one.csv", "."])
    if role.inside:
        return "saved"
    if name == "save":
        endings = MODEL_ENDINGS if command in ("fit", "learn") else (".json",)
    elif name == "output":
        endings = (".json",) if command == "random" else TABLE_ENDINGS
    else:
        endings = ENDINGS[name]
    return f"new-{name}{scene.one(endings)}"


def draw_line(command: Callable[..., Any], scene: Scene) -> list[str]:
    """Draw one command line; how its result is printed is left to those who run it."""
    words, behind, given = [name_of(command)], [], set()
    parameters = parameters_of(command)
    for name in sorted(parameters, key=lambda n: (n in LATER, n != "network")):
        parameter = parameters[name]
        if name in NEVER or not _wanted(words[0], parameter, given, scene):
            continue
        given.add(name)
        switch = _type_of(parameter) is bool
        info = next(x for x in _more(parameter) if isinstance(x, ParameterInfo))
        value = "" if switch else draw_value(words[0], parameter, scene)
        if isinstance(info, ArgumentInfo):
            more = [draw_value(words[0], parameter, scene)] if name == "networks" else []
            behind += [value, *more]
            continue
        option = next((x for x in info.param_decls or () if x.startswith("--")), None)
        option = option or f"--{name.replace('_', '-')}"
        words += [option] if switch else [option, value]
    return [*words, "--", *behind] if behind else words


def _wanted(command: str, parameter: inspect.Parameter, given: set[str], scene: Scene) -> bool:
    """Whether a line has an option: most of those that it has go together."""
    name, sure = parameter.name, scene.rng.random() >= WRONG
    if parameter.default is inspect.Parameter.empty or name in ALWAYS:
        return True
    if name == "weights" and not scene.table.weight:
        return not sure
    if command == "fit" and name in ("quick", "evidence", "target") and not given & {"group"}:
        return not sure
    if command == "learn" and name == "hidden":
        return bool(scene.rng.random() < 0.1)
    if sure and name in NOT_WITH and NOT_WITH[name] in given:
        return False
    if name == "states" and command != "select":
        return sure
    if sure and name in WITH:
        return WITH[name] in given and bool(scene.rng.random() < 0.5)
    return bool(scene.rng.random() < LIKELY.get(name, 0.07))


def name_of(command: Callable[..., Any]) -> str:
    return command.__name__.replace("_", "-")


def draw_scene(seed: int, folder: Path) -> Scene:
    """Draw a table, and the command lines on it: the last is what is tried."""
    rng = np.random.default_rng([seed, 20])
    table = draw_table(rng)
    scene = Scene(rng, table, write_table(table, folder, rng))
    with contextlib.suppress(OSError):
        (folder / "link").symlink_to(folder / scene.data)
    names, weights = zip(*COMMAND_WEIGHTS.items(), strict=True)
    chosen = str(rng.choice(names, p=np.array(weights) / sum(weights)))
    by_name = {name_of(c): c for c in COMMANDS}
    with contextlib.chdir(folder):
        if chosen in MODELS or rng.random() < 0.15:
            scene.lines.append(_first_fit(scene))
        scene.lines.append(draw_line(by_name[chosen], scene))
    return scene


def _first_fit(scene: Scene) -> list[str]:
    """Fit the model that others are about."""
    rng, words = scene.rng, ["fit", "--starts", "1", "--threads", "1", "--save", "m.json"]
    words += ["--classes", scene.one("1233")]
    words += ["--columns", ",".join(scene.some(2, 4))]
    if scene.table.weight and rng.random() < 0.7:
        words += ["--weights", scene.table.weight]
    if rng.random() < 0.1:
        words += ["--covariates", scene.name()]
    return [*words, "--", scene.data]
