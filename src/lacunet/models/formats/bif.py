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
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats import bif_at_once
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
    blocks += [_variable_text(v) for v in model.network.variables]
    blocks += [_probability_text(variables, table) for variables, table in tables(model)]
    return "".join(blocks)


def _variable_text(v: Variable) -> str:
    told = "".join(f"  property {k} = {value} ;\n" for k, value in to_properties(v).items())
    states = ", ".join(map(_quote, v.labels))
    return (
        f"variable {_quote(v.name)} {{\n"
        f"  type discrete [ {len(v.states)} ] {{ {states} }};\n{told}}}\n"
    )


def _probability_text(variables: Sequence[Variable], table: FloatArray) -> str:
    *parents, child = variables
    given = f" | {', '.join(_quote(p.name) for p in parents)}" if parents else ""
    labels = product(*(map(_quote, p.labels) for p in parents))
    heads = [f"( {', '.join(row)} )" for row in labels] if parents else ["table"]
    rows = [
        f"  {head} {', '.join(map(repr, p))};\n"
        for head, p in zip(heads, table.reshape(-1, table.shape[-1]).tolist(), strict=True)
    ]
    return f"probability ( {_quote(child.name)}{given} ) {{\n{''.join(rows)}}}\n"


def _quote(name: str) -> str:
    if re.fullmatch(WORD, name):
        return name
    return '"' + "".join(ESCAPES.get(char, char) for char in name) + '"'


class _Token(NamedTuple):
    text: str  # what is meant: a quoted one without its quotes
    raw: str  # as it stands in the file
    before: str  # the space and comments before it
    line: int

    def sign(self, *signs: str) -> bool:
        """Whether it is one of these, and not in quotes."""
        return self.raw in signs

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"line {self.line}: {what}")


@dataclass(frozen=True)
class _Block:
    """``keyword head { entry; entry; }``"""

    keyword: _Token
    head: list[_Token]
    entries: list[list[_Token]]


def _name(tokens: Sequence[_Token]) -> str:
    """One token, or several that a program left bare: then as they stand in the file."""
    if len(tokens) < 2:
        return tokens[0].text if tokens else ""
    return tokens[0].raw + "".join(t.before + t.raw for t in tokens[1:])


def _items(tokens: Sequence[_Token], fits: Callable[[list[str]], bool]) -> list[str]:
    """Names between commas if that fits, else every word by itself."""
    groups: list[list[_Token]] = [[]]
    for token in tokens:
        if token.sign(","):
            groups.append([])
        else:
            groups[-1].append(token)
    named = [_name(g) for g in groups if g]
    return named if fits(named) else [t.text for t in tokens if not t.sign(",", "|")]


def read(text: str) -> Model:
    """Read the text of a BIF file; every mistake is a ModelError that names the place."""
    return bif_at_once.read(text) or read_by_words(text)


def read_by_words(text: str) -> Model:
    """Read any BIF file, and find the place of every mistake."""
    blocks = list(_blocks(_tokens(text)))
    if not blocks:
        raise ModelError("the file has no blocks. A BIF file holds variable blocks and tables.")
    variables = [_variable(block) for block in blocks if block.keyword.sign("variable")]
    names = {v.name for v in variables}
    families = [_family(block, names) for block in blocks if block.keyword.sign("probability")]
    return assemble(variables, families, KIND, _table)


def _tokens(text: str) -> Iterator[_Token]:
    line, before = 1, ""
    for m in TOKEN.finditer(text):
        raw = m.group()
        if m.lastgroup == "wrong":
            opened = {'"': "a quote", "/": "a comment"}[raw]
            raise ModelError(
                f"line {line}: {opened} opens here and is never closed. The file may be cut off."
            )
        if m.lastgroup == "skip":
            before += raw
        else:
            meant = raw
            if m.lastgroup == "quoted":
                meant = ESCAPED.sub(lambda e: UNESCAPE.get(e[1], e[0]), m["quoted"])
            yield _Token(meant, raw, before, line)
            before = ""
        line += raw.count("\n")


def _blocks(tokens: Iterator[_Token]) -> Iterator[_Block]:
    for keyword in tokens:
        if not keyword.sign("network", "variable", "probability"):
            raise keyword.wrong(
                f"'{keyword.text}' opens no block of a BIF file. Blocks are network, variable "
                "and probability."
            )
        head: list[_Token] = []
        for token in tokens:
            if token.sign("{"):
                break
            head.append(token)
        else:
            raise _cut_off(keyword, head)
        yield _Block(keyword, head, _entries(keyword, head, tokens))


def _entries(keyword: _Token, head: list[_Token], tokens: Iterator[_Token]) -> list[list[_Token]]:
    entries: list[list[_Token]] = [[]]
    depth = 0  # a ';' inside brackets belongs to a name
    for token in tokens:
        if depth == 0 and token.sign("}"):
            return [entry for entry in entries if entry]
        if depth == 0 and token.sign(";"):
            entries.append([])
            continue
        depth += token.sign("{", "(") - token.sign("}", ")")
        entries[-1].append(token)
    raise _cut_off(keyword, head)


def _cut_off(keyword: _Token, head: list[_Token]) -> ModelError:
    name = _name([t for t in head if not t.sign("(", ")")][:1])
    return keyword.wrong(
        f"the file ends inside the {keyword.text} block '{name}'. It is cut off, or a bracket is "
        "not closed. Get the whole file."
    )


def _variable(block: _Block) -> Variable:
    name = _name(block.head)
    where = f"line {block.keyword.line}: variable '{name}'"
    labels: list[str] | None = None
    for entry in block.entries:
        if entry[0].sign("type"):
            labels = _states(entry, where)
        elif not entry[0].sign("property"):
            raise entry[0].wrong(
                f"variable '{name}': '{entry[0].text}' is not allowed here. Its block holds a "
                "type and properties."
            )
    if labels is None:
        raise ModelError(f"{where} has no type. Add: type discrete [ 2 ] {{ no, yes }};")
    told = properties(_name(entry[1:]) for entry in block.entries if entry[0].sign("property"))
    return variable(name, labels, told, where)


def _states(entry: list[_Token], where: str) -> list[str]:
    shape = [t.text for t in entry[:6]]
    if shape[1:3] != ["discrete", "["] or shape[4:] != ["]", "{"] or not entry[-1].sign("}"):
        raise ModelError(
            f"{where}: its type is '{_name(entry[1:])}'. It must be as in: "
            "type discrete [ 2 ] { no, yes };"
        )
    labels = _items(entry[6:-1], lambda named: str(len(named)) == shape[3])
    if str(len(labels)) != shape[3]:
        raise ModelError(
            f"{where}: it is said to have {shape[3]} states, but {len(labels)} are listed. "
            "Correct one of them."
        )
    return labels


def _family(block: _Block, names: set[str]) -> Family:
    head, inner = block.head, block.head[1:-1]
    if len(head) < 3 or not (head[0].sign("(") and head[-1].sign(")")):
        raise block.keyword.wrong(
            f"'probability {_name(head)}' is not as in: probability ( child | parent )."
        )
    bar = next((i for i, t in enumerate(inner) if t.sign("|")), None)
    if bar is None:  # JavaBayes: the child is the first of the words
        child, *parents = _items(inner, names.issuperset)
    else:
        child, parents = _name(inner[:bar]), _items(inner[bar + 1 :], names.issuperset)
    where = f"line {block.keyword.line}: {KIND} '{child}'"
    return Family(child, tuple(parents), where, block)


def _table(family: Family, variables: Sequence[Variable]) -> FloatArray:
    *parents, child = variables
    *sizes, states = shape(variables)
    entries = [entry for entry in family.entry.entries if not entry[0].sign("property")]
    if len(entries) == 1 and entries[0][0].sign("table"):
        flat = numbers(_words(entries[0][1:]), variables, family.where)
        return np.moveaxis(flat.reshape(states, *sizes), 0, -1)
    rows: dict[tuple[int, ...], FloatArray] = {}
    default: FloatArray | None = None
    for entry in entries:
        first, here = entry[0], f"line {entry[0].line}: {KIND} '{child.name}'"
        if first.sign("default") and default is None:
            default = _row(entry[1:], states, here)
        elif first.sign("("):
            close = next((k for k, t in enumerate(entry) if t.sign(")")), len(entry))
            place = _configuration(entry[1:close], parents, here)
            if place in rows:
                raise ModelError(
                    f"{here}: the row ({_name(entry[1:close])}) stands twice. Keep one."
                )
            rows[place] = _row(entry[close + 1 :], states, here)
        else:
            raise ModelError(
                f"{here}: '{first.text}' is not allowed here. A block holds one table alone, or "
                "rows as in ( no, yes ) 0.2, 0.8; with at most one default."
            )
    table = np.empty((*sizes, states))
    for place in np.ndindex(*sizes):
        row = rows.get(place, default)
        if row is None:
            missing = ", ".join(p.labels[k] for p, k in zip(parents, place, strict=True))
            raise ModelError(
                f"{family.where} has no row for ({missing}). Add it, or a default row."
                if parents
                else f"{family.where} has no table. Add it."
            )
        table[place] = row
    return table


def _words(tokens: Sequence[_Token]) -> list[str]:
    return [t.text for t in tokens if not t.sign(",")]


def _row(tokens: Sequence[_Token], states: int, where: str) -> FloatArray:
    values = [number(word, where) for word in _words(tokens)]
    if len(values) != states:
        raise ModelError(
            f"{where}: this row has {len(values)} numbers, but the variable has {states} states. "
            "Give one number for each."
        )
    return np.array(values)


def _configuration(
    tokens: Sequence[_Token], parents: Sequence[Variable], where: str
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
