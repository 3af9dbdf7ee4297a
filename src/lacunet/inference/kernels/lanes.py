"""Four numbers at once, inside kernels.

The inner loops of an E step add short vectors, one number per hidden state, that stand anywhere in
a table. Written as plain loops the compiler must first check, each time, whether the two vectors
overlap, which for 4 or 10 states costs more than the sums. These operations say outright what is
meant: load four neighbours, combine, store. Tables are padded to a multiple of `LANES` columns.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped
from numba.extending import intrinsic

cgutils: Any = untyped  # it has no types
LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def padded(cells: int) -> int:
    """Round up to a multiple of the lanes."""
    return -(-cells // LANES) * LANES


def _lanes(function: Callable[..., Any]) -> Any:
    """Make an operation that kernels can call; the type checker need not know its insides."""
    return intrinsic(function)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _broadcast(builder: Any, number: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


def _store(
    context: Any, builder: Any, signature: Any, args: Sequence[Any], combine: Callable[..., Any]
) -> Any:
    """Store to (array, position) = the first two arguments what `combine` makes of the rest."""
    target = _pointer(context, builder, signature.args[0], args[0], args[1])
    builder.store(combine(target), target, align=8)
    return context.get_dummy_value()


def _with_lanes(operation: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Code that combines four neighbours with four others: operation(builder, old, others)."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def combine(target: Any) -> Any:
            source = _pointer(context, builder, signature.args[2], args[2], args[3])
            return operation(builder, builder.load(target, align=8), builder.load(source, align=8))

        return _store(context, builder, signature, args, combine)

    return code


@_lanes
def add_lanes(typing: Any, out: Any, at: Any, x: Any, i: Any) -> Any:
    """out[at : at + 4] += x[i : i + 4], positions in the flattened arrays."""
    return types.void(out, types.intp, x, types.intp), _with_lanes(lambda b, x, y: b.fadd(x, y))


@_lanes
def multiply_lanes(typing: Any, out: Any, at: Any, x: Any, i: Any) -> Any:
    """out[at : at + 4] *= x[i : i + 4], positions in the flattened arrays."""
    return types.void(out, types.intp, x, types.intp), _with_lanes(lambda b, x, y: b.fmul(x, y))


@_lanes
def divide_lanes(typing: Any, out: Any, at: Any, x: Any, i: Any) -> Any:
    """out[at : at + 4] /= x[i : i + 4], positions in the flattened arrays."""
    return types.void(out, types.intp, x, types.intp), _with_lanes(lambda b, x, y: b.fdiv(x, y))


def _with_four(operation: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Code that combines four neighbours with four times four others: one load and store of them.

    Pairs first: an operation that waits for none can begin at once.
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def combine(target: Any) -> Any:
            one, two, three, four = (
                builder.load(_pointer(context, builder, signature.args[2], args[2], at), align=8)
                for at in args[3:]
            )
            others = operation(
                builder, operation(builder, one, two), operation(builder, three, four)
            )
            return operation(builder, builder.load(target, align=8), others)

        return _store(context, builder, signature, args, combine)

    return code


@_lanes
def add_four_lanes(typing: Any, out: Any, at: Any, x: Any, i: Any, j: Any, k: Any, m: Any) -> Any:
    """Add x at the four positions i, j, k, m to out."""
    code = _with_four(lambda b, x, y: b.fadd(x, y))
    return types.void(out, types.intp, x, *[types.intp] * 4), code


@_lanes
def multiply_four_lanes(
    typing: Any, out: Any, at: Any, x: Any, i: Any, j: Any, k: Any, m: Any
) -> Any:
    """Multiply out by x at the four positions i, j, k, m."""
    code = _with_four(lambda b, x, y: b.fmul(x, y))
    return types.void(out, types.intp, x, *[types.intp] * 4), code


def _with_number(operation: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Code that combines four neighbours with one number: operation(builder, old, number)."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def combine(target: Any) -> Any:
            old = builder.load(target, align=8)
            return operation(builder, old, _broadcast(builder, args[2]))

        return _store(context, builder, signature, args, combine)

    return code


@_lanes
def fill_lanes(typing: Any, out: Any, at: Any, number: Any) -> Any:
    """out[at : at + 4] = number."""
    return types.void(out, types.intp, types.float64), _with_number(lambda _b, _old, new: new)


@_lanes
def shift_lanes(typing: Any, out: Any, at: Any, number: Any) -> Any:
    """out[at : at + 4] += number."""
    return types.void(out, types.intp, types.float64), _with_number(lambda b, x, n: b.fadd(x, n))


@_lanes
def scale_lanes(typing: Any, out: Any, at: Any, number: Any) -> Any:
    """out[at : at + 4] *= number."""
    return types.void(out, types.intp, types.float64), _with_number(lambda b, x, n: b.fmul(x, n))


# Polynomials: products of tall matrices with one of a few columns. A product of matrices from a
# library spends its time on copies and on vectors that are too short for it; here four rows, or
# four columns, are added up side by side in registers.

AT_ONCE = 4


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """X · y + z in one operation, where the machine has it."""
    product = builder.fmul(x, y, flags=("contract",))
    return builder.fadd(product, z, flags=("contract",))


def _shape(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    shape = context.make_array(kind)(context, builder, array).shape
    return cgutils.unpack_tuple(builder, shape, kind.ndim)


def _number(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    """One number, in all lanes."""
    data = context.make_array(kind)(context, builder, array).data
    return _broadcast(builder, builder.load(builder.gep(data, [position])))


def _sums(builder: Any, targets: Sequence[Any]) -> list[Any]:
    """Sums that begin with what stands at their targets."""
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in targets]
    for place, target in zip(sums, targets, strict=True):
        builder.store(builder.load(target, align=8), place)
    return sums


def _weigh_code(count: int) -> Callable[..., Any]:
    """Code that adds b x + c x² over the columns of `count` rows, four cells at a time."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (out, row, x, x_row, powers, cell), kinds = args, signature.args
        _, columns, width = _shape(context, builder, kinds[4], powers)
        size = builder.mul(columns, width)
        each = [ir.Constant(row.type, r) for r in range(count)]
        targets = [
            _pointer(
                context,
                builder,
                kinds[0],
                out,
                builder.add(cell, builder.mul(width, builder.add(row, r))),
            )
            for r in each
        ]
        sums = _sums(builder, targets)
        with cgutils.for_range(builder, columns) as loop:
            at = builder.add(cell, builder.mul(loop.index, width))
            b, c = (
                builder.load(_pointer(context, builder, kinds[4], powers, place), align=8)
                for place in (
                    builder.add(at, size),
                    builder.add(at, builder.mul(size, ir.Constant(size.type, 2))),
                )
            )
            for r, place in zip(each, sums, strict=True):
                where = builder.add(loop.index, builder.mul(columns, builder.add(x_row, r)))
                value = _number(context, builder, kinds[2], x, where)
                slope = _fused(builder, value, c, b)
                builder.store(_fused(builder, value, slope, builder.load(place)), place)
        for place, target in zip(sums, targets, strict=True):
            builder.store(builder.load(place), target, align=8)
        return context.get_dummy_value()

    return code


@_lanes
def weigh_four_rows(
    typing: Any, out: Any, row: Any, x: Any, x_row: Any, powers: Any, c: Any
) -> Any:
    """Add Σ_j powers[1, j] x + powers[2, j] x² of x = x[x_row + r, j] to out[row + r], r < 4."""
    return types.void(out, types.intp, x, types.intp, powers, types.intp), _weigh_code(AT_ONCE)


@_lanes
def weigh_row(typing: Any, out: Any, row: Any, x: Any, x_row: Any, powers: Any, c: Any) -> Any:
    """Do the same for one row."""
    return types.void(out, types.intp, x, types.intp, powers, types.intp), _weigh_code(1)


def _collect_code(count: int) -> Callable[..., Any]:
    """Code that adds x and x² of all rows, times what they have at four cells, by column."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (out, column, x, cells, cell), kinds = args, signature.args
        _, columns, width = _shape(context, builder, kinds[0], out)
        rows, _ = _shape(context, builder, kinds[3], cells)
        size = builder.mul(columns, width)
        targets = []
        for k in range(count):
            own = builder.add(column, ir.Constant(column.type, k))
            at = builder.add(cell, builder.mul(own, width))
            for power in (1, 2):
                place = builder.add(at, builder.mul(size, ir.Constant(size.type, power)))
                targets.append(_pointer(context, builder, kinds[0], out, place))
        sums = _sums(builder, targets)
        with cgutils.for_range(builder, rows) as loop:
            at = builder.add(cell, builder.mul(loop.index, width))
            share = builder.load(_pointer(context, builder, kinds[3], cells, at), align=8)
            for k in range(count):
                where = builder.add(column, ir.Constant(column.type, k))
                where = builder.add(where, builder.mul(loop.index, columns))
                value = _number(context, builder, kinds[2], x, where)
                first, second = sums[2 * k], sums[2 * k + 1]
                product = builder.fmul(value, share)
                builder.store(builder.fadd(builder.load(first), product), first)
                builder.store(_fused(builder, value, product, builder.load(second)), second)
        for place, target in zip(sums, targets, strict=True):
            builder.store(builder.load(place), target, align=8)
        return context.get_dummy_value()

    return code


@_lanes
def collect_four_columns(typing: Any, out: Any, column: Any, x: Any, cells: Any, c: Any) -> Any:
    """Add Σ_i x[i, j] cells[i] to out[1, j], and the same of x² to out[2, j], four columns j."""
    return types.void(out, types.intp, x, cells, types.intp), _collect_code(AT_ONCE)


@_lanes
def collect_column(typing: Any, out: Any, column: Any, x: Any, cells: Any, c: Any) -> Any:
    """Do the same for one column."""
    return types.void(out, types.intp, x, cells, types.intp), _collect_code(1)
