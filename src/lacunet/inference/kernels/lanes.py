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
from numba.extending import intrinsic

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
