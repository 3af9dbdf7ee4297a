"""Results as files of tables; the ending of the name says in which format."""

from collections.abc import Callable
from pathlib import Path

from lacunet.errors import OptionError
from lacunet.report.word import door, write_word
from lacunet.runtime.files import StrPath, atomic_path, check_file, harmless, write_text
from lacunet.tabular import Printable

WORD = ".docx"
TEXTS: dict[str, Callable[[Printable], str]] = {
    ".csv": lambda result: result.to_csv(),
    ".md": lambda result: harmless(result.to_markdown()),
    ".tex": lambda result: harmless(result.to_latex()),
    ".html": lambda result: harmless(result.to_html()),
}


def check_tables(target: StrPath) -> None:
    """Say now, before the work, why tables could not be written."""
    if _ending(target) == WORD:
        door()
    check_file(target)


def write_tables(result: Printable, path: StrPath) -> Path:
    """Write the tables of any result to a file.

    Parameters
    ----------
    result
        What `paper_tables` gave, or any other result that prints.
    path
        The file: `.csv` (numbers with all their digits), `.md` (Markdown), `.tex` (LaTeX, package
        booktabs), `.html`, or `.docx` (Word; needs `pip install 'lacunet[word]'`).
    """
    if not isinstance(result, Printable):
        raise OptionError(
            f"{type(result).__name__} is no result with tables. Give paper_tables(found), or any "
            "other result."
        )
    check_tables(path)
    ending = _ending(path)
    if ending == WORD:
        with atomic_path(path) as temporary:
            write_word(result.grids(), temporary)
    else:
        write_text(path, TEXTS[ending](result))
    return Path(path)


def _ending(target: StrPath) -> str:
    ending = Path(target).suffix.lower()
    if ending not in (*TEXTS, WORD):
        known = f"{', '.join(TEXTS)} or {WORD}"
        raise OptionError(f"'{target}': tables are written to {known} files. Choose one of these.")
    return ending
