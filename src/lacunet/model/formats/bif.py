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

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.model.formats.assembly import Family, assemble, connect, number, numbers, shapes
from lacunet.model.formats.typed import to_properties, variable
from lacunet.model.network import Model, Network, Variable

WORD = r'(?:[^\s{}()\[\]|,;"/]|/(?![/*]))+'
TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>' + WORD + r")|"
    r"(?P<sign>[{}()\[\]|,;])|(?P<wrong>.)",
    re.DOTALL,
)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNESCAPE = {escaped[1]: char for char, escaped in ESCAPES.items()}
KIND = "probability block"


def write(model: Model) -> str:
    """Give the text of a BIF file."""
    network = model.network
    blocks = ["network lacunet {\n}\n"]
    blocks += [_variable_text(v) for v in network.variables]
    blocks += [_probability_text(model, i) for i in range(len(network.variables))]
    return "".join(blocks)


def _variable_text(v: Variable) -> str:
    properties = "".join(f"  property {k} = {value} ;\n" for k, value in to_properties(v).items())
    states = ", ".join(map(_quote, v.labels))
    return (
        f"variable {_quote(v.name)} {{\n"
        f"  type discrete [ {len(v.states)} ] {{ {states} }};\n{properties}}}\n"
    )


def _probability_text(model: Model, i: int) -> str:
    network = model.network
    names = [_quote(v.name) for v in network.variables]
    table = network.layout.table(model.theta, i)
    parents = network.parents[i]
    given = f" | {', '.join(names[p] for p in parents)}" if parents else ""
    labels = product(*([_quote(s) for s in network.variables[p].labels] for p in parents))
    heads = [f"( {', '.join(row)} )" for row in labels] if parents else ["table"]
    rows = [
        f"  {head} {', '.join(map(repr, p))};\n"
        for head, p in zip(heads, table.reshape(-1, table.shape[-1]).tolist(), strict=True)
    ]
    return f"probability ( {names[i]}{given} ) {{\n{''.join(rows)}}}\n"


def _quote(name: str) -> str:
    if re.fullmatch(WORD, name):
        return name
    return '"' + "".join(ESCAPES.get(char, char) for char in name) + '"'


class _Token(NamedTuple):
    text: str  # a quoted one without its quotes
    start: int
    end: int
    quoted: bool = False

    def sign(self, char: str) -> bool:
        return self.text == char and not self.quoted


@dataclass(frozen=True)
class _Block:
    """``keyword head { entry; entry; }``"""

    keyword: _Token
    head: list[_Token]
    entries: list[list[_Token]]


@dataclass(frozen=True)
class _Source:
    text: str
    breaks: list[int]  # where each line ends

    def at(self, token: _Token) -> str:
        return f"line {bisect_right(self.breaks, token.start) + 1}"

    def wrong(self, token: _Token, what: str) -> ModelError:
        return ModelError(f"{self.at(token)}: {what}")

    def name(self, tokens: Sequence[_Token]) -> str:
        """One token, or several that a program left bare: then as they stand in the file."""
        if len(tokens) == 1:
            return tokens[0].text
        return self.text[tokens[0].start : tokens[-1].end] if tokens else ""

    def items(self, tokens: Sequence[_Token], fits: Callable[[list[str]], bool]) -> list[str]:
        """Names between commas if that fits, else every word by itself."""
        groups: list[list[_Token]] = [[]]
        for token in tokens:
            if token.sign(","):
                groups.append([])
            else:
                groups[-1].append(token)
        named = [self.name(g) for g in groups if g]
        return named if fits(named) else [t.text for g in groups for t in g if not t.sign("|")]


def read(text: str) -> Model:
    """Read the text of a BIF file; every mistake is a ModelError that names the place."""
    source = _Source(text, [m.start() for m in re.finditer("\n", text)])
    blocks = list(_blocks(source))
    if not blocks:
        raise ModelError("the file has no blocks. A BIF file holds variable blocks and tables.")
    by_keyword: dict[str, list[_Block]] = {"network": [], "variable": [], "probability": []}
    for block in blocks:
        by_keyword[block.keyword.text].append(block)
    variables = [_variable(source, block) for block in by_keyword["variable"]]
    names = {v.name for v in variables}
    families = [_family(source, block, names) for block in by_keyword["probability"]]
    network, order = connect(variables, families, KIND)
    tables = [
        _table(source, by_keyword["probability"][f], network, i, shape, families[f].where)
        for i, (f, shape) in enumerate(zip(order, shapes(network), strict=True))
    ]
    return assemble(network, tables, [families[f].where for f in order])


def _tokens(source: _Source) -> Iterator[_Token]:
    for m in TOKEN.finditer(source.text):
        if m.lastgroup == "word" or m.lastgroup == "sign":
            yield _Token(m.group(), m.start(), m.end())
        elif m.lastgroup == "quoted":
            raw = re.sub(r"\\(.)", lambda e: UNESCAPE.get(e[1], e[0]), m["quoted"], flags=re.DOTALL)
            yield _Token(raw, m.start(), m.end(), quoted=True)
        elif m.lastgroup == "wrong":
            opened = {'"': "a quote", "/": "a comment"}[m.group()]
            raise source.wrong(
                _Token(m.group(), m.start(), m.end()),
                f"{opened} opens here and is never closed. The file may be cut off.",
            )


def _blocks(source: _Source) -> Iterator[_Block]:
    tokens = _tokens(source)
    for keyword in tokens:
        if keyword.text not in ("network", "variable", "probability") or keyword.quoted:
            raise source.wrong(
                keyword,
                f"'{keyword.text}' opens no block of a BIF file. Blocks are network, variable "
                "and probability.",
            )
        head: list[_Token] = []
        for token in tokens:
            if token.sign("{"):
                break
            head.append(token)
        else:
            raise _cut_off(source, keyword, head)
        yield _Block(keyword, head, _entries(source, keyword, head, tokens))


def _entries(
    source: _Source, keyword: _Token, head: list[_Token], tokens: Iterator[_Token]
) -> list[list[_Token]]:
    entries: list[list[_Token]] = [[]]
    depth = 0  # a ';' inside brackets belongs to a name
    for token in tokens:
        if depth == 0 and token.sign("}"):
            return [entry for entry in entries if entry]
        if depth == 0 and token.sign(";"):
            entries.append([])
            continue
        depth += (token.sign("{") or token.sign("(")) - (token.sign("}") or token.sign(")"))
        entries[-1].append(token)
    raise _cut_off(source, keyword, head)


def _cut_off(source: _Source, keyword: _Token, head: list[_Token]) -> ModelError:
    name = source.name([t for t in head if not (t.sign("(") or t.sign(")"))][:1])
    return source.wrong(
        keyword,
        f"the file ends inside the {keyword.text} block '{name}'. It is cut off, or a bracket is "
        "not closed. Get the whole file.",
    )


def _variable(source: _Source, block: _Block) -> Variable:
    name = source.name(block.head)
    where = f"{source.at(block.keyword)}: variable '{name}'"
    labels: list[str] | None = None
    properties = []
    for entry in block.entries:
        if entry[0].sign("property"):
            key, _, value = source.name(entry[1:]).partition("=")
            properties.append((key.strip(), value.strip()))
        elif entry[0].sign("type"):
            labels = _states(source, entry, where)
        else:
            raise source.wrong(
                entry[0],
                f"variable '{name}': '{entry[0].text}' is not allowed here. Its block holds a "
                "type and properties.",
            )
    if labels is None:
        raise ModelError(f"{where} has no type. Add: type discrete [ 2 ] {{ no, yes }};")
    return variable(name, labels, properties, where)


def _states(source: _Source, entry: list[_Token], where: str) -> list[str]:
    shape = [t.text for t in entry[:6]]
    if shape[1:3] != ["discrete", "["] or shape[4:] != ["]", "{"] or not entry[-1].sign("}"):
        raise ModelError(
            f"{where}: its type is '{source.name(entry[1:])}'. It must be as in: "
            "type discrete [ 2 ] { no, yes };"
        )
    labels = source.items(entry[6:-1], lambda named: str(len(named)) == shape[3])
    if str(len(labels)) != shape[3]:
        raise ModelError(
            f"{where}: it is said to have {shape[3]} states, but {len(labels)} are listed. "
            "Correct one of them."
        )
    return labels


def _family(source: _Source, block: _Block, names: set[str]) -> Family:
    head = block.head
    if len(head) < 3 or not (head[0].sign("(") and head[-1].sign(")")):
        raise source.wrong(
            block.keyword,
            f"'probability {source.name(head)}' is not as in: probability ( child | parent ).",
        )
    inner = head[1:-1]
    bar = next((i for i, t in enumerate(inner) if t.sign("|")), None)

    def known(named: list[str]) -> bool:
        return names.issuperset(named)

    if bar is None:  # JavaBayes: the child is the first of the words
        child, *parents = source.items(inner, known)
    else:
        child = source.name(inner[:bar])
        rest = inner[bar + 1 :]
        parents = source.items(rest, known)
    return Family(child, tuple(parents), f"{source.at(block.keyword)}: {KIND} '{child}'")


def _table(
    source: _Source, block: _Block, network: Network, i: int, shape: tuple[int, ...], where: str
) -> FloatArray:
    child = network.variables[i].name
    entries = [entry for entry in block.entries if not entry[0].sign("property")]
    if len(entries) == 1 and entries[0][0].sign("table"):
        flat = numbers(_words(entries[0][1:]), shape, where)
        return np.moveaxis(flat.reshape(shape[-1:] + shape[:-1]), 0, -1)
    rows: dict[tuple[int, ...], FloatArray] = {}
    default: FloatArray | None = None
    for entry in entries:
        first, here = entry[0], f"{source.at(entry[0])}: {KIND} '{child}'"
        if first.sign("default") and default is None:
            default = _row(entry[1:], shape[-1], here)
        elif first.sign("("):
            close = next((k for k, t in enumerate(entry) if t.sign(")")), len(entry))
            place = _configuration(source, entry[1:close], network, i, here)
            if place in rows:
                raise ModelError(
                    f"{here}: the row ({source.name(entry[1:close])}) stands twice. Keep one."
                )
            rows[place] = _row(entry[close + 1 :], shape[-1], here)
        else:
            raise ModelError(
                f"{here}: '{first.text}' is not allowed here. A block holds one table alone, or "
                "rows as in ( no, yes ) 0.2, 0.8; with at most one default."
            )
    table = np.empty(shape)
    for place in np.ndindex(shape[:-1]):
        row = rows.get(place, default)
        if row is None:
            labels = [network.variables[p].labels for p in network.parents[i]]
            missing = ", ".join(labels[a][k] for a, k in enumerate(place))
            raise ModelError(
                f"{where} has no row for ({missing}). Add it, or a default row."
                if labels
                else f"{where} has no table. Add it."
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
    source: _Source, tokens: Sequence[_Token], network: Network, i: int, where: str
) -> tuple[int, ...]:
    parents = [network.variables[p] for p in network.parents[i]]
    labels = source.items(tokens, lambda named: len(named) == len(parents))
    if len(labels) != len(parents):
        raise ModelError(
            f"{where}: the row ({source.name(tokens)}) names {len(labels)} states, but the "
            f"parents are {', '.join(repr(p.name) for p in parents)}. Name one state of each."
        )
    for parent, text in zip(parents, labels, strict=True):
        if text not in parent.labels:
            raise ModelError(
                f"{where}: '{text}' is not a state of its parent '{parent.name}'. "
                f"The states are {', '.join(map(repr, parent.labels))}."
            )
    return tuple(p.labels.index(text) for p, text in zip(parents, labels, strict=True))
