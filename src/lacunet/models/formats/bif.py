r"""The Interchange Format (BIF), as JavaBayes, bnlearn, pgmpy and pyAgrum write it.

::

    network name { }
    variable rain { type discrete [ 2 ] { no, yes }; property hidden = true ; }
    probability ( wet | rain, sprinkler ) { ( no, on ) 0.1, 0.9; ... }

The reader accepts ``//`` and ``/* */`` comments, optional commas, ``table`` (the child varies
slowest, the last parent fastest, as in pgmpy and pyAgrum), rows by parent states, ``default`` for
other rows, and properties. Row sums may differ from 1 by rounded digits (see `check_table`).

Names are bare words. A name with spaces, quotes, brackets, commas or ``;`` is written in double
quotes with ``\\``, ``\"``, ``\n``, ``\r`` and ``\t`` escaped. Lacunet reads these; pgmpy and
pyAgrum do not. Lacunet also reads such names bare, with commas between them, as pgmpy writes them.

For speed, all rows of a block in the common form are one token, and parsed at once. All other
blocks, invalid ones included, are parsed word by word.
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
from lacunet.models.formats.assembly import (
    Family,
    assemble,
    number,
    numbers,
    properties,
    shape,
    tables,
    to_properties,
    variable,
)
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import FloatArray

WORD = r'(?:[^\s{}()\[\]|,;"/]|/(?![/*]))+'
TOKENS = (
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>' + WORD + r")|"
    r"(?P<sign>[{}()\[\]|,;])|(?P<wrong>.)"
)
TOKEN = re.compile(TOKENS, re.DOTALL)
ROWS = r'(?P<rows>(?:(?:\([^(){}|;"/]*\)|table\b)[\s0-9a-zA-Z.,+-]*;\s*)+)'
TOKEN_OR_ROWS = re.compile(f"{ROWS}|{TOKENS}", re.DOTALL)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNESCAPE = {escaped[1]: char for char, escaped in ESCAPES.items()}
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
KIND = "probability block"
# Atomic groups prevent backtracking into long spaces and comments.
LOOKS = r"\A(?>\s+|//[^\n]*+|/\*(?s:.*?)\*/)*+(network|variable)\b"


def write(model: Model) -> str:
    """The text of a BIF file."""
    blocks = ["network lacunet {\n}\n"]
    for v in model.network.variables:
        lines = "".join(f"  property {k} = {value} ;\n" for k, value in to_properties(v).items())
        states = ", ".join(map(_quote, v.labels))
        kind = f"  type discrete [ {len(v.states)} ] {{ {states} }};\n"
        blocks.append(f"variable {_quote(v.name)} {{\n{kind}{lines}}}\n")
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
    """The text of a token, without quotes and escapes."""
    if token.lastgroup != "quoted":
        return token[0]
    return ESCAPED.sub(lambda e: UNESCAPE.get(e[1], e[0]), token["quoted"])


def _name(tokens: Sequence[Token]) -> str:
    """The text of one token, or of several bare ones as in the file."""
    if len(tokens) < 2:
        return _text(tokens[0]) if tokens else ""
    return tokens[0].string[tokens[0].start() : tokens[-1].end()]


def _items(tokens: Sequence[Token], fits: Callable[[list[str]], bool]) -> list[str]:
    """Names between commas if these fit, otherwise single words."""
    groups: list[list[Token]] = [[]]
    for token in tokens:
        if token[0] == ",":
            groups.append([])
        else:
            groups[-1].append(token)
    named = [_name(g) for g in groups if g]
    return named if fits(named) else [_text(t) for t in tokens if t[0] not in (",", "|")]


def read(text: str) -> Model:
    """Read the text of a BIF file; every mistake is a ModelError that names the place."""
    tokens = _tokens(TOKEN_OR_ROWS.finditer(text))
    blocks = [_block(keyword, tokens) for keyword in tokens]
    if not blocks:
        raise ModelError("the file has no blocks. A BIF file holds variable blocks and tables.")
    variables = [_variable(block) for block in blocks if block.keyword[0] == "variable"]
    names = {v.name for v in variables}
    families = [_family(block, names) for block in blocks if block.keyword[0] == "probability"]
    return assemble(variables, families, KIND, _table)


def _tokens(matches: Iterator[Token]) -> Iterator[Token]:
    for token in matches:
        if token.lastgroup == "wrong":
            opened = {'"': "a quote", "/": "a comment"}[token[0]]
            _refuse(token, f"{opened} opens here and is never closed. The file may be cut off.")
        if token.lastgroup != "skip":
            yield token


def _words(rows: Token) -> list[Token]:
    """The tokens of rows."""
    return list(_tokens(TOKEN.finditer(rows.string, *rows.span())))


def _block(keyword: Token, tokens: Iterator[Token]) -> _Block:
    if keyword[0] not in ("network", "variable", "probability"):
        opens = _words(keyword)[0] if keyword.lastgroup == "rows" else keyword
        _refuse(
            keyword,
            f"'{_text(opens)}' opens no block of a BIF file. Blocks are network, variable "
            "and probability.",
        )
    head: list[Token] = []
    entries: list[list[Token]] = []
    ahead: list[Token] = []
    depth = 0  # a ';' inside brackets belongs to a name
    while token := ahead.pop() if ahead else next(tokens, None):
        if token.lastgroup == "rows":
            if keyword[0] == "probability" and entries and depth == 0 and not entries[-1]:
                entries[-1:] = [[token], []]
            else:
                ahead = _words(token)[::-1]
        elif not entries:
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
    extra = properties(_name(entry[1:]) for entry in block.entries if entry[0][0] == "property")
    return variable(name, labels, extra, where)


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
    entries: list[list[Token]] = []
    for entry in family.entry.entries:
        if entry[0].lastgroup == "rows":
            if len(family.entry.entries) == 1:
                table = _table_at_once(entry[0][0].split(";")[:-1], variables)
                if table is not None:
                    return table
            entries.append([])
            for token in _words(entry[0]):
                if token[0] == ";":
                    entries.append([])
                else:
                    entries[-1].append(token)
            entries.pop()
        elif entry[0][0] != "property":
            entries.append(entry)
    if len(entries) == 1 and entries[0][0][0] == "table":
        words = [_text(t) for t in entries[0][1:] if t[0] != ","]
        flat = numbers(words, variables, family.where)
        return np.moveaxis(flat.reshape(states, *sizes), 0, -1)
    rows: dict[tuple[int, ...], FloatArray] = {}
    default: FloatArray | None = None
    for entry in entries:
        first, where = entry[0], f"line {_line(entry[0])}: {KIND} '{child.name}'"
        if first[0] == "default" and default is None:
            default = _row(entry[1:], states, where)
        elif first[0] == "(":
            close = next((k for k, t in enumerate(entry) if t[0] == ")"), len(entry))
            place = _configuration(entry[1:close], parents, where)
            if place in rows:
                raise ModelError(
                    f"{where}: the row ({_name(entry[1:close])}) occurs twice. Keep one."
                )
            rows[place] = _row(entry[close + 1 :], states, where)
        else:
            raise ModelError(
                f"{where}: '{_text(first)}' is not allowed here. A block holds one table alone, or "
                "rows as in ( no, yes ) 0.2, 0.8; with at most one default."
            )
    whole = np.empty((*sizes, states))
    for place in np.ndindex(*sizes):
        row = rows.get(place, default)
        if row is None:
            missing = ", ".join(p.labels[k] for p, k in zip(parents, place, strict=True))
            lacks = f"row for ({missing}). Add it, or a default row." if parents else ""
            raise ModelError(f"{family.where} has no {lacks or 'table. Add it.'}")
        whole[place] = row
    return whole


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


def _table_at_once(rows: Sequence[str], variables: Sequence[Variable]) -> FloatArray | None:
    """Parse a table or rows by parent states at once; None if not in the common form."""
    parents, (*sizes, states) = variables[:-1], shape(variables)
    try:
        if rows[0].startswith("table"):
            (values,) = (row[len("table") :].replace(",", " ").split() for row in rows)
            flat = np.array(list(map(float, values)))
            return np.moveaxis(flat.reshape(states, *sizes), 0, -1)
        given, printed = zip(*(row.strip()[1:].split(")") for row in rows), strict=True)
        if {text.count(",") for text in printed} != {states - 1}:
            return None
        table = np.array(list(map(float, ",".join(printed).split(",")))).reshape(-1, states)
        names = [name.strip() for name in ",".join(given).split(",")]
        places = np.zeros(len(rows), dtype=np.int64)
        for k, parent in enumerate(parents):
            codes = {text: code for code, text in enumerate(parent.labels)}
            states_of_parent = [codes[name] for name in names[k :: len(parents)]]
            places = places * len(codes) + states_of_parent
        if not parents or not np.array_equal(np.sort(places), np.arange(math.prod(sizes))):
            return None
        return table[np.argsort(places)].reshape(*sizes, states)
    except (KeyError, ValueError):
        return None
