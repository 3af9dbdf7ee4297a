"""Every block of code in the documentation and the README runs, and prints what is shown."""

import json
import re
import shlex
import shutil

import pytest
import typer
from markdown_it import MarkdownIt
from page_code import ROOT, RUN, SHOWN, Session, blocks, markdown_pages, same, statements, update
from readme_files import write_readme_files

from election import write_election
from lacunet.cli.app import app
from peers import load

VOTE = ROOT / "bench" / "imputation" / "data" / "vote.csv"
PAGES = {str(page.relative_to(ROOT)): page for page in markdown_pages()}
# What a page takes for given: files of the reader's own.
FILES = {
    "README.md": write_readme_files,
    "docs/coming-from/polca.md": write_election,
    "docs/explanation/known-tables.md": lambda folder: shutil.copy(VOTE, folder),
}
PEERS = {
    "docs/how-to/networks.md": "pyagrum",
    "docs/coming-from/pgmpy.md": "pgmpy",
    "docs/coming-from/pyagrum.md": "pyagrum",
}
FIRST = {"README.md", "docs/tutorial.md"}  # `make test` runs these, `make docs` all others
WITH_CODE = [
    pytest.param(name, marks=[] if name in FIRST else pytest.mark.pages)
    for name, page in PAGES.items()
    if any(statements(page))
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning:pgmpy")  # of itself, when it is imported
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(name, tmp_path):
    if name in PEERS and isinstance(load(PEERS[name]), str):
        pytest.skip(str(load(PEERS[name])))
    FILES.get(name, lambda folder: None)(tmp_path)
    surprises = Session(PAGES[name], tmp_path).run()
    assert not surprises, "\n\n".join(map(str, surprises))


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_run_or_is_no_code(name):
    for block in blocks(PAGES[name]):
        assert block.language in RUN | SHOWN, f"line {block.line}: language {block.language!r}"
        if block.language == "json":
            json.loads("\n".join(block.lines))


def test_commands_in_tables_have_the_options_that_they_use():
    """In the README; those of other pages are run, or have ellipses."""
    group = typer.main.get_command(app)
    text = PAGES["README.md"].read_text(encoding="utf-8")
    commands = re.findall(r"^\|.*\| `lacunet (.+)` \|$", text, re.MULTILINE)
    assert len(commands) > 10
    for command in commands:
        name, *words = shlex.split(command)
        group.commands[name].make_context(name, words)


def test_links_between_files_lead_somewhere():
    """Sphinx looks after those of the site; these are what a reader of the repository follows."""
    for page in [*ROOT.glob("*.md"), *PAGES.values()]:
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
            for child in token.children or ():
                target = str(child.attrs.get("href", child.attrs.get("src", "")))
                path = target.partition("#")[0]
                if path and "://" not in path and not path.startswith("mailto:"):
                    assert (page.parent / path).exists(), f"{page.name}: {target}"


def test_no_line_of_a_paragraph_is_a_comment():
    """To MyST, a line that begins with % is one, and its words would not be shown."""
    for name, page in PAGES.items():
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
            assert not re.search(r"^\s*%", token.content, re.MULTILINE) or token.type == "fence", (
                name
            )


def test_no_page_names_a_place_on_some_machine():
    for name, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(home|root|tmp|work|opt|Users)/", text), name


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ("a  b", "a b\n"),
        ("one\n...\nthree", "one\n2\n\n3\nthree"),
        ("−350.8 ± 0.1", "−350.79 ± 0.096"),
        ("x 12.3", "x 12.345"),
        ("x 12.34", "x 12.35"),
        ("0.0000", "-0.0000"),
        ("9.356498054678488e-6", "9.356498054678505e-6"),
        ("k  seconds\n1     0.10\nend", "k  seconds\n1    17.32\nend"),
        ("3 runs; 0.2 s", "3 runs; 8.1 s"),
    ],
)
def test_what_counts_as_the_same(want, got):
    assert same(want, got)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ("a b", "a c"),
        ("x 12.3", "x 12.5"),
        ("x 12.34", "x 12.36"),
        ("x 12", "x 13"),
        ("x 9.3564e-6", "x 9.3566e-6"),
        ("x 9.3564e-6", "x 9.3564e-5"),
        ("a\n...\nb", "a\nc"),
        ("k  size\n1   0.10", "k  size\n1   0.20"),
    ],
)
def test_what_counts_as_different(want, got):
    assert not same(want, got)


PAGE = """# Page

```pycon
>>> x = [
...     1,
... ]
>>> x
[2]
>>> print("as it", "was")
as ... was
```

```console
$ echo one \\
>   two
three
$ echo said nothing of
```

```sh
echo text > file.txt
```
"""


def test_a_page_can_be_put_right(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert [s.statement.source for s in Session(page, tmp_path).run()] == ["x", "echo one   two"]
    assert update(page) == 2
    assert page.read_text() == PAGE.replace("[2]", "[1]").replace("three", "one two")
    assert update(page) == 0


def test_what_fails_is_not_passed_over(tmp_path):
    page = tmp_path / "page.md"
    for code in (
        "```python\n1 / 0\n```",
        "```sh\nfalse\n```",
        "```sh\nlacunet fit nowhere.csv --states 2\n```",
        "```sh\nlacunet paper --no-such-option\n```",
        "```sh\nmake nothing\n```",
        "```sh\npip install 'lacunet[nothing]'\n```",
        "```console\n$ lacunet --version\nerror: no\n```",
    ):
        page.write_text(code, encoding="utf-8")
        with pytest.raises(BaseException):  # noqa: B017, PT011 - each fails in its own way
            Session(page, tmp_path).run()
