"""Check that names and prose use the words of the glossary: the banned ones are in `words.txt`."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
CODE = re.compile(r"`[^`]*`|\{[^}]*\}|\b\w+\??=[\w.]+")  # in comments and strings
ALIAS = re.compile(r"\b(warn_)?renamed(_parameter)?\(|RENAMED\b")  # deprecated names
# Of pages: blocks of code, code in lines, and tags.
FENCE = re.compile(r"^```.*?^```|`[^`\n]*`|\{[{%].*?[%}]\}|<[a-z/][^>]*>", re.MULTILINE | re.DOTALL)


def read_words(text: str) -> dict[str, list[str]]:
    """Read the sections of the list."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            words.append(line)
    return sections


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments and strings with spaces, each with its line; quoted code is left out."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING} and " " in token.string:
            text = re.sub(r"^\s*(>>>|\.\.\.).*$", "", token.string, flags=re.MULTILINE)
            yield token.start[0], CODE.sub(lambda m: "·" * len(m[0]), text)


def names_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield every identifier with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def mistakes(path: Path, words: dict[str, list[str]]) -> Iterator[str]:
    """Yield each banned word in a file, with its place."""
    source = path.read_text(encoding="utf-8")
    lines, banned, where = source.splitlines(), set(words["names"]), path.relative_to(ROOT)
    if where.parts[0] == "src":
        banned |= set(words["names of src"])
    pattern = re.compile("|".join(words["prose"]), re.IGNORECASE)
    if path.suffix != ".py":
        text = FENCE.sub(lambda m: re.sub(r"[^\n]", "·", m[0]), source)
        prose = [(n, line) for n, line in enumerate(text.splitlines(), 1)]
    else:
        ast.parse(source)
        prose = list(prose_of(source))
        for line, name in names_of(source):
            parts = {part.lower() for part in PART.findall(name)}
            wrong = banned & {name, *parts} and name not in words["allowed"]
            if wrong and not ALIAS.search(lines[line - 1]):
                yield f"{where}:{line}: the name {name}"
    for line, text in prose:
        for result in pattern.finditer(text):
            at = line + text.count("\n", 0, result.start())
            if not ALIAS.search(lines[at - 1]):
                yield f"{where}:{at}: {result[0]!r}"


def main() -> int:
    """Print the banned words, and return how many there are."""
    words = read_words((ROOT / "tests" / "words.txt").read_text(encoding="utf-8"))
    places = [ROOT / place for place in words["places"]]
    files = [f for p in places for f in (sorted(p.rglob("*")) if p.is_dir() else [p])]
    all_ = [m for p in files if p.suffix in {".py", ".md", ".j2"} for m in mistakes(p, words)]
    sys.stdout.writelines(f"{one}\n" for one in all_)
    return len(all_)


if __name__ == "__main__":
    sys.exit(bool(main()))
