r"""The Interchange Format (BIF), as JavaBayes, bnlearn, pgmpy and pyAgrum write it.

::

    network name { }
    variable rain { type discrete [ 2 ] { no, yes }; property hidden = true ; }
    probability ( wet | rain, sprinkler ) { ( no, on ) 0.1, 0.9; ... }

Read: ``//`` and ``/* */`` comments, commas or not, ``table`` (the child varies slowest, the last
parent fastest: the format's rule, and that of pgmpy and pyAgrum), rows by parent states,
``default`` for the rows not given, properties. Rows may miss the sum 1 by rounded digits only
(see `check_table`).

Names are bare words. One with spaces, quotes, brackets, commas or ``;`` is written in double
quotes with ``\\``, ``\"``, ``\n``, ``\r`` and ``\t`` escaped; we read that back, pgmpy and pyAgrum
do not. pgmpy writes such names bare, with commas between them; we read that too.

There are two readers. `read_at_once` takes a block at a time, as programs write them: this makes
large files quick to read. It leaves all else, mistakes included, to `read_by_words`.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, number, numbers, shape, tables
from lacunet.models.formats.typed import properties, to_properties, variable
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import FloatArray

WORD = r'(?:[^\s{}()\[\]|,;"/]|/(?![/*]))+'
TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>' + WORD + r")|"
    r"(?P<sign>[{}()\[\]|,;])|(?P<wrong>.)",
    re.DOTALL,
)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNESCAPE = {escaped[1]: char for char, escaped in ESCAPES.items()}
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
KIND = "probability block"
# Atomic: what was taken for space or a comment is not taken apart again, however long it is.
LOOKS = r"\A(?>\s+|//[^\n]*+|/\*(?s:.*?)\*/)*+(network|variable)\b"


def write(model: Model) -> str:
    """Give the text of a BIF file."""
    blocks = ["network lacunet {\n}\n"]
    for v in model.network.variables:
        own = "".join(f"  property {k} = {value} ;\n" for k, value in to_properties(v).items())
        states = ", ".join(map(_quote, v.labels))
        kind = f"  type discrete [ {len(v.states)} ] {{ {states} }};\n"
        blocks.append(f"variable {_quote(v.name)} {{\n{kind}{own}}}\n")
    for (*parents, child), table in tables(model):
        given = f" | {', '.join(_quote(p.name) for p in parents)}" if parents else ""
        labels = product(*(map(_quote, p.labels) for p in parents))
        heads = [f"( {', '.join(row)} )" for row in labels] if parents else ["table"]
        rows = "".join(
            f"  {head} {', '.join(map(repr, p))};\n"
            for head, p in zip(heads, table.reshape(-1, table.shape[-1]).tolist(), strict=True)
        )
        blocks.append(f"probability ( {_quote(child.name)}{given} ) {{\n{rows}}}\n")
    return "".join(blocks)


def _quote(name: str) -> str:
    if re.fullmatch(WORD, name):
        return name
    return '"' + "".join(ESCAPES.get(char, char) for char in name) + '"'


def read(text: str) -> Model:
    """Read the text of a BIF file; every mistake is a ModelError that names the place."""
    return read_at_once(text) or read_by_words(text)


# Word by word, with the place of every mistake

Token: TypeAlias = "re.Match[str]"


class _Block(NamedTuple):
    """``keyword head { entry; entry; }``"""

    keyword: Token
    head: list[Token]
    entries: list[list[Token]]


@lru_cache(maxsize=1)
def _line_ends(text: str) -> list[int]:
    return [m.start() for m in re.finditer("\n", text)]


def _line(token: Token) -> int:
    return bisect_left(_line_ends(token.string), token.start()) + 1


def _refuse(token: Token, what: str) -> NoReturn:
    raise ModelError(f"line {_line(token)}: {what}")


def _text(token: Token) -> str:
    """The text that is meant: of a quoted one without its quotes."""
    if token.lastgroup != "quoted":
        return token[0]
    return ESCAPED.sub(lambda e: UNESCAPE.get(e[1], e[0]), token["quoted"])


def _name(tokens: Sequence[Token]) -> str:
    """One token, or several that a program left bare: then as they stand in the file."""
    if len(tokens) < 2:
        return _text(tokens[0]) if tokens else ""
    return tokens[0].string[tokens[0].start() : tokens[-1].end()]


def _items(tokens: Sequence[Token], fits: Callable[[list[str]], bool]) -> list[str]:
    """Names between commas if that fits, else every word by itself."""
    groups: list[list[Token]] = [[]]
    for token in tokens:
        if token[0] == ",":
            groups.append([])
        else:
            groups[-1].append(token)
    named = [_name(g) for g in groups if g]
    return named if fits(named) else [_text(t) for t in tokens if t[0] not in (",", "|")]


def read_by_words(text: str) -> Model:
    """Read any BIF file, and find the place of every mistake."""
    tokens = _tokens(text)
    blocks = [_block(keyword, tokens) for keyword in tokens]
    if not blocks:
        raise ModelError("the file has no blocks. A BIF file holds variable blocks and tables.")
    variables = [_variable(block) for block in blocks if block.keyword[0] == "variable"]
    names = {v.name for v in variables}
    families = [_family(block, names) for block in blocks if block.keyword[0] == "probability"]
    return assemble(variables, families, KIND, _table)


def _tokens(text: str) -> Iterator[Token]:
    for token in TOKEN.finditer(text):
        if token.lastgroup == "wrong":
            opened = {'"': "a quote", "/": "a comment"}[token[0]]
            _refuse(token, f"{opened} opens here and is never closed. The file may be cut off.")
        if token.lastgroup != "skip":
            yield token


def _block(keyword: Token, tokens: Iterator[Token]) -> _Block:
    if keyword[0] not in ("network", "variable", "probability"):
        _refuse(
            keyword,
            f"'{_text(keyword)}' opens no block of a BIF file. Blocks are network, variable "
            "and probability.",
        )
    head: list[Token] = []
    entries: list[list[Token]] = []
    depth = 0  # a ';' inside brackets belongs to a name
    for token in tokens:
        if not entries:
            if token[0] == "{":
                entries.append([])
            else:
                head.append(token)
        elif depth == 0 and token[0] == "}":
            return _Block(keyword, head, [entry for entry in entries if entry])
        elif depth == 0 and token[0] == ";":
            entries.append([])
        else:
            depth += (token[0] in ("{", "(")) - (token[0] in ("}", ")"))
            entries[-1].append(token)
    name = _name([t for t in head if t[0] not in ("(", ")")][:1])
    _refuse(
        keyword,
        f"the file ends inside the {_text(keyword)} block '{name}'. It is cut off, or a bracket is "
        "not closed. Get the whole file.",
    )


def _variable(block: _Block) -> Variable:
    name = _name(block.head)
    where = f"line {_line(block.keyword)}: variable '{name}'"
    labels: list[str] | None = None
    for entry in block.entries:
        if entry[0][0] == "type":
            labels = _states(entry, where)
        elif entry[0][0] != "property":
            _refuse(
                entry[0],
                f"variable '{name}': '{_text(entry[0])}' is not allowed here. Its block holds a "
                "type and properties.",
            )
    if labels is None:
        raise ModelError(f"{where} has no type. Add: type discrete [ 2 ] {{ no, yes }};")
    own = properties(_name(entry[1:]) for entry in block.entries if entry[0][0] == "property")
    return variable(name, labels, own, where)


def _states(entry: list[Token], where: str) -> list[str]:
    form = [_text(t) for t in entry[:6]]
    if form[1:3] != ["discrete", "["] or form[4:] != ["]", "{"] or entry[-1][0] != "}":
        raise ModelError(
            f"{where}: its type is '{_name(entry[1:])}'. It must be as in: "
            "type discrete [ 2 ] { no, yes };"
        )
    labels = _items(entry[6:-1], lambda named: str(len(named)) == form[3])
    if str(len(labels)) != form[3]:
        raise ModelError(
            f"{where}: it is said to have {form[3]} states, but {len(labels)} are listed. "
            "Correct one of them."
        )
    return labels


def _family(block: _Block, names: set[str]) -> Family:
    head, inner = block.head, block.head[1:-1]
    if len(head) < 3 or head[0][0] != "(" or head[-1][0] != ")":
        _refuse(
            block.keyword,
            f"'probability {_name(head)}' is not as in: probability ( child | parent ).",
        )
    bar = next((i for i, t in enumerate(inner) if t[0] == "|"), None)
    if bar is None:  # JavaBayes: the child is the first of the words
        child, *parents = _items(inner, names.issuperset)
    else:
        child, parents = _name(inner[:bar]), _items(inner[bar + 1 :], names.issuperset)
    where = f"line {_line(block.keyword)}: {KIND} '{child}'"
    return Family(child, tuple(parents), where, block)


def _table(family: Family, variables: Sequence[Variable]) -> FloatArray:
    *parents, child = variables
    *sizes, states = shape(variables)
    entries = [entry for entry in family.entry.entries if entry[0][0] != "property"]
    if len(entries) == 1 and entries[0][0][0] == "table":
        words = [_text(t) for t in entries[0][1:] if t[0] != ","]
        flat = numbers(words, variables, family.where)
        return np.moveaxis(flat.reshape(states, *sizes), 0, -1)
    rows: dict[tuple[int, ...], FloatArray] = {}
    default: FloatArray | None = None
    for entry in entries:
        first, here = entry[0], f"line {_line(entry[0])}: {KIND} '{child.name}'"
        if first[0] == "default" and default is None:
            default = _row(entry[1:], states, here)
        elif first[0] == "(":
            close = next((k for k, t in enumerate(entry) if t[0] == ")"), len(entry))
            place = _configuration(entry[1:close], parents, here)
            if place in rows:
                raise ModelError(
                    f"{here}: the row ({_name(entry[1:close])}) stands twice. Keep one."
                )
            rows[place] = _row(entry[close + 1 :], states, here)
        else:
            raise ModelError(
                f"{here}: '{_text(first)}' is not allowed here. A block holds one table alone, or "
                "rows as in ( no, yes ) 0.2, 0.8; with at most one default."
            )
    table = np.empty((*sizes, states))
    for place in np.ndindex(*sizes):
        row = rows.get(place, default)
        if row is None:
            missing = ", ".join(p.labels[k] for p, k in zip(parents, place, strict=True))
            lacks = f"row for ({missing}). Add it, or a default row." if parents else ""
            raise ModelError(f"{family.where} has no {lacks or 'table. Add it.'}")
        table[place] = row
    return table


def _row(tokens: Sequence[Token], states: int, where: str) -> FloatArray:
    values = [number(_text(t), where) for t in tokens if t[0] != ","]
    if len(values) != states:
        raise ModelError(
            f"{where}: this row has {len(values)} numbers, but the variable has {states} states. "
            "Give one number for each."
        )
    return np.array(values)


def _configuration(
    tokens: Sequence[Token], parents: Sequence[Variable], where: str
) -> tuple[int, ...]:
    labels = _items(tokens, lambda named: len(named) == len(parents))
    if len(labels) != len(parents):
        raise ModelError(
            f"{where}: the row ({_name(tokens)}) names {len(labels)} states, but the "
            f"parents are {', '.join(repr(p.name) for p in parents)}. Name one state of each."
        )
    for parent, text in zip(parents, labels, strict=True):
        if text not in parent.labels:
            raise ModelError(
                f"{where}: '{text}' is not a state of its parent '{parent.name}'. "
                f"The states are {', '.join(map(repr, parent.labels))}."
            )
    return tuple(p.labels.index(text) for p, text in zip(parents, labels, strict=True))


# A block at a time: names are bare words without spaces, quotes or slashes, rows of a block all
# have the same shape, and nothing is missing

NAME = r'[^\s{}()\[\]|,;"]+'
COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)  # one that is never closed is all
BLOCK = re.compile(
    r"\s*(?:"
    rf"variable\s+(?P<name>{NAME})\s*\{{\s*type\s+discrete\s*\[\s*(?P<number>\d+)\s*\]"
    r"\s*\{(?P<labels>[^{}()\[\]|;]*)\}\s*;(?P<properties>(?:\s*property\s[^{}()\[\]|,;]*;)*)\s*\}|"
    rf"probability\s*\(\s*(?P<child>{NAME})\s*(?:\|(?P<parents>[^{{}}()\[\]|;]*))?\)"
    r"\s*\{(?P<body>[^{}\[\]|]*)\}|"
    r"network\s[^{}]*\{[^{}]*\}"
    r")\s*"
)
ROW = re.compile(r"\(([^()]*)\)([^();]*);")
ROWS = re.compile(r"(?:\s*\([^()]*\)[^();]*;)*\s*")


def read_at_once(text: str) -> Model | None:
    """Read the text of a BIF file; None if it is not in the common form, or not right."""
    if '"' in text:
        return None
    if "//" in text or "/*" in text:
        if text.rfind("/*") > text.rfind("*/"):  # one is never closed, perhaps
            return None
        text = COMMENT.sub(" ", text)
    variables: list[Variable] = []
    families: list[Family] = []
    end = 0
    try:
        while end < len(text):
            block = BLOCK.match(text, end)
            if block is None:
                return None
            end = block.end()
            if block["name"]:
                variables.append(_variable_at_once(block))
            elif block["child"]:
                parents = (block["parents"] or "").replace(",", " ").split()
                families.append(Family(block["child"], tuple(parents), "", block["body"]))
        return assemble(variables, families, "", _table_at_once)
    except (KeyError, ValueError):  # a ModelError is one
        return None


def _expect(fits: object) -> None:
    if not fits:
        raise ValueError


def _variable_at_once(block: Token) -> Variable:
    labels = block["labels"].replace(",", " ").split()
    _expect(str(len(labels)) == block["number"] and block["labels"].count(",") == len(labels) - 1)
    entries = (entry.strip() for entry in block["properties"].split(";"))
    own = properties(entry.removeprefix("property") for entry in entries if entry)
    return variable(block["name"], labels, own, "")


def _table_at_once(family: Family, variables: Sequence[Variable]) -> FloatArray:
    """Read one table, in which the child varies slowest, or rows by parent states."""
    *sizes, states = shape(variables)
    body, needed = family.entry, math.prod(sizes)
    if "(" not in body:
        words, end, after = body.partition(";")
        keyword, *values = words.replace(",", " ").split() or [""]
        _expect(keyword == "table" and end and not after.strip())
        flat = np.array(list(map(float, values)))
        return np.moveaxis(flat.reshape(states, *sizes), 0, -1)
    rows = ROW.findall(body)
    _expect(sizes and len(rows) == needed and ROWS.fullmatch(body))
    given, printed = zip(*rows, strict=True)
    _expect({text.count(",") for text in printed} == {states - 1})
    table = np.array(list(map(float, ",".join(printed).split(",")))).reshape(needed, states)
    places = _places(",".join(given).split(","), variables[:-1])
    _expect(len(set(places)) == needed)
    if places != list(range(needed)):
        table = table[np.argsort(places)]
    return table.reshape(*sizes, states)


def _places(words: Sequence[str], parents: Sequence[Variable]) -> list[int]:
    """Give the place of every row, of which the words name the states of the parents."""
    places = [0] * (len(words) // len(parents))
    bare = [word.strip() for word in words]
    for k, parent in enumerate(parents):
        codes = {text: code for code, text in enumerate(parent.labels)}
        own = map(codes.__getitem__, bare[k :: len(parents)])
        size = len(codes)
        places = [size * p + code for p, code in zip(places, own, strict=True)]
    return places
