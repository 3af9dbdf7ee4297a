"""Help in two sizes."""

import shlex

import pytest
import typer

from lacunet.cli.app import COMMANDS, app
from lacunet.cli.help import EXAMPLES, GROUP_OF, ORDER, command_name

NAMES = [command_name(function) for function in COMMANDS]
SCREEN = 30  # lines


def parameters_of(name):
    return typer.main.get_command(app).commands[name].params


def options_of(name):
    return {o for p in parameters_of(name) for o in (*p.opts, *p.secondary_opts)}


@pytest.mark.parametrize("name", NAMES)
def test_short_help_fits_a_screen_and_ends_with_examples(invoke, name):
    lines = invoke(name, "-h").out.splitlines()
    assert lines[0].startswith(f"Usage: lacunet {name}")
    assert len(lines) <= SCREEN
    assert "Examples" in lines
    assert lines[-1].endswith(f"lacunet {name} --help")


@pytest.mark.parametrize("name", NAMES)
def test_examples_have_options_that_exist_and_those_required(name):
    for line in EXAMPLES[name]:
        words = shlex.split(line)
        given = {word for word in words if word.startswith("-")}
        assert given <= options_of(name)
        for p in parameters_of(name):
            if p.required and p.param_type_name == "option":
                assert given & set(p.opts)
            elif p.required:
                assert words[0][0] != "-"


def test_every_command_has_a_group_and_examples():
    assert set(NAMES) == set(GROUP_OF) == set(EXAMPLES)


def test_options_stand_in_panels_in_one_order(invoke):
    text = invoke("fit", "--help").out
    places = [text.find(f"─ {panel} ─") for panel in ORDER]
    shown = [place for place in places if place >= 0]
    assert shown == sorted(shown)
    assert len(shown) >= 7
    for option in options_of("fit"):
        assert option in text
