"""SIMD operations on four neighbouring numbers, for use inside kernels.

The inner loops of an E step add short vectors, one number per hidden state, at arbitrary positions
of a table. In plain loops the compiler checks each time whether two vectors overlap, which costs
more than the sums of 4 or 10 states. These operations load four neighbours, combine, and store.
Positions index the flattened arrays. Tables are padded to a multiple of `LANES` columns.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped
from numba.extending import intrinsic as untyped_intrinsic

cgutils: Any = untyped  # it has no types
intrinsic: Any = untyped_intrinsic
LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def padded(cells: int) -> int:
    """Round up to a multiple of the lanes."""
    return -(-cells // LANES) * LANES


def _pointer(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _broadcast(builder: Any, number: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


def _storing(combine: Callable[..., Any]) -> Callable[..., Any]:
    """Code generator of array[position] = combine(old, others); the first two arguments."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _pointer(context, builder, signature.args[0], args[0], args[1])
        others = [
            builder.load(_pointer(context, builder, signature.args[2], args[2], at), align=8)
            for at in args[3:]
        ]
        others = others or [_broadcast(builder, args[2])]
        builder.store(combine(builder, builder.load(target, align=8), *others), target, align=8)
        return context.get_dummy_value()

    return code


def _with_lanes(operation: Callable[..., Any]) -> Any:
    """The operation out[at : at + 4] ∘= x[i : i + 4]."""

    def lanes(typing: Any, out: Any, at: Any, x: Any, i: Any) -> Any:
        return types.void(out, types.intp, x, types.intp), _storing(operation)

    return intrinsic(lanes)


def _with_four(operation: Callable[..., Any]) -> Any:
    """The same with x at four positions i, j, k, m, and one load and store of out.

    Pairs are combined first, for instruction-level parallelism.
    """

    def combine(b: Any, old: Any, one: Any, two: Any, three: Any, four: Any) -> Any:
        pairs = operation(b, one, two), operation(b, three, four)
        return operation(b, old, operation(b, *pairs))

    def lanes(typing: Any, out: Any, at: Any, x: Any, i: Any, j: Any, k: Any, m: Any) -> Any:
        return types.void(out, types.intp, x, *[types.intp] * 4), _storing(combine)

    return intrinsic(lanes)


def _with_number(operation: Callable[..., Any]) -> Any:
    """The operation out[at : at + 4] ∘= number."""

    def lanes(typing: Any, out: Any, at: Any, number: Any) -> Any:
        return types.void(out, types.intp, types.float64), _storing(operation)

    return intrinsic(lanes)


add_lanes = _with_lanes(lambda b, x, y: b.fadd(x, y))
multiply_lanes = _with_lanes(lambda b, x, y: b.fmul(x, y))
divide_lanes = _with_lanes(lambda b, x, y: b.fdiv(x, y))
add_four_lanes = _with_four(lambda b, x, y: b.fadd(x, y))
multiply_four_lanes = _with_four(lambda b, x, y: b.fmul(x, y))
fill_lanes = _with_number(lambda _, _old, number: number)
shift_lanes = _with_number(lambda b, x, number: b.fadd(x, number))
scale_lanes = _with_number(lambda b, x, number: b.fmul(x, number))


# Polynomials: products of a tall matrix and one of few columns. BLAS is slow here, because it
# copies and its vectors are too short. These keep sums of four rows or columns in registers.

AT_ONCE = 4


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Fused multiply-add X · y + z, if the machine has it."""
    product = builder.fmul(x, y, flags=("contract",))
    return builder.fadd(product, z, flags=("contract",))


def _shape(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    shape = context.make_array(kind)(context, builder, array).shape
    return cgutils.unpack_tuple(builder, shape, kind.ndim)


def _number(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    """Load a number into all lanes."""
    data = context.make_array(kind)(context, builder, array).data
    return _broadcast(builder, builder.load(builder.gep(data, [position])))


def _sums(builder: Any, targets: Sequence[Any]) -> list[Any]:
    """Accumulators that start with the values at their targets."""
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in targets]
    for place, target in zip(sums, targets, strict=True):
        builder.store(builder.load(target, align=8), place)
    return sums


def _weigh_code(count: int) -> Callable[..., Any]:
    """Code generator of sums of b x + c x² over the columns of `count` rows, four cells each."""

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


def _weigh(count: int) -> Any:
    def weigh(typing: Any, out: Any, row: Any, x: Any, x_row: Any, powers: Any, c: Any) -> Any:
        signature = types.void(out, types.intp, x, types.intp, powers, types.intp)
        return signature, _weigh_code(count)

    return intrinsic(weigh)


# Add Σ_j powers[1, j] x + powers[2, j] x² of x = x[x_row + r, j] to out[row + r], r < 4 or r = 0.
weigh_four_rows, weigh_row = _weigh(AT_ONCE), _weigh(1)


def _collect_code(count: int) -> Callable[..., Any]:
    """Code generator of sums over rows of x and x² times four cell weights, by column."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (out, column, x, cells, cell), kinds = args, signature.args
        _, columns, width = _shape(context, builder, kinds[0], out)
        rows, _ = _shape(context, builder, kinds[3], cells)
        size = builder.mul(columns, width)
        targets = []
        for k in range(count):
            column_index = builder.add(column, ir.Constant(column.type, k))
            at = builder.add(cell, builder.mul(column_index, width))
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


def _collect(count: int) -> Any:
    def collect(typing: Any, out: Any, column: Any, x: Any, cells: Any, c: Any) -> Any:
        return types.void(out, types.intp, x, cells, types.intp), _collect_code(count)

    return intrinsic(collect)


# Add Σ_i x[i, j] cells[i] to out[1, j], and the same of x² to out[2, j], for four columns j or one.
collect_four_columns, collect_column = _collect(AT_ONCE), _collect(1)
