"""What the names of ``instructions`` become in compiled code.

What the processor has an instruction for is written there and then: as functions, these would be most of all calls.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.extending import lower_builtin, overload, type_callable

from .compiler import OPTIONS
from .instructions import (
    CACHE_LINE,
    at,
    busy_ns,
    fetch_and_add,
    foresee,
    foresee_arrays,
    foresee_first_arrays,
    foresee_row,
    give_way,
    let_go,
    load,
    lowest_bit,
    now_ns,
    places_in_row,
    prefetch,
    prefetch_early,
    seize,
)

for _owner, _names in (
    (types, ("ExternalFunction", "TypeRef")),
    (BaseContext, ("cast", "get_abi_sizeof", "get_data_type", "get_dummy_value", "make_array", "make_tuple")),
    (cgutils, ("get_null_value", "pack_array", "unpack_tuple")),
    (ir.IRBuilder, ("atomic_rmw", "bitcast", "cmpxchg", "cttz", "extract_value", "gep", "icmp_signed")),
    (ir.IRBuilder, ("inttoptr", "or_")),
    (ir.IntType, ("as_pointer",)),
    (ir.Module, ("declare_intrinsic",)),
):
    for _name in _names:
        getattr(_owner, _name)

__all__: list[str] = []  # to import it is to have it

# The C library's clock, called by name: unlike a ctypes pointer it can be cached on disk.
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
_windows_counter = types.ExternalFunction("QueryPerformanceCounter", types.int32(types.intp))
_sched_yield = types.ExternalFunction("sched_yield", types.int32())


@type_callable(at)
def _type_of_at(context: Any) -> Callable[..., Any]:
    return lambda index: types.uint64 if isinstance(index, types.Integer) else None


@lower_builtin(at, types.Integer)
def _emit_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.cast(builder, args[0], signature.args[0], types.uint64)


@type_callable(lowest_bit)
def _type_of_lowest_bit(context: Any) -> Callable[..., Any]:
    return lambda mask: types.int64 if isinstance(mask, types.Integer) else None


@lower_builtin(lowest_bit, types.Integer)
def _emit_lowest_bit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    mask = context.cast(builder, args[0], signature.args[0], types.int64)
    return builder.cttz(mask, ir.Constant(ir.IntType(1), 1))


@type_callable(prefetch)
@type_callable(prefetch_early)
def _type_of_prefetch(context: Any) -> Callable[..., Any]:
    return lambda array, index: types.void


@lower_builtin(prefetch, types.Array, types.Integer)
def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    _emit_hints(builder, builder.gep(data, [args[1]]), 1)
    return context.get_dummy_value()


@lower_builtin(prefetch_early, types.Array, types.Integer)
def _emit_prefetch_early(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    _emit_hints(builder, builder.gep(data, [args[1]]), 1, early=True)
    return context.get_dummy_value()


def _emit_hints(builder: Any, address: Any, size: int, early: bool = False) -> None:
    """So many bytes from an address on will be read soon, or ``early``: a little later."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    read, cache, data_cache = number(0), number(2 if early else 3), number(1)  # 3: the first, 2: the second
    begin = builder.bitcast(address, byte)
    for offset in range(0, size, CACHE_LINE):
        builder.call(hint, [builder.gep(begin, [number(offset)]), read, cache, data_cache])


@type_callable(foresee)
def _type_of_foresee(context: Any) -> Callable[..., Any]:
    return lambda array, row: types.void


@lower_builtin(foresee, types.Array, types.Integer)
def _emit_foresee(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    # Of a long record what matters comes first.
    size = min(context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype)), 2 * CACHE_LINE)
    _emit_hints(builder, _begin_of_row(context, builder, signature.args, args), size)
    return context.get_dummy_value()


@type_callable(foresee_first_arrays)
@type_callable(foresee_row)
def _type_of_foresee_row(context: Any) -> Callable[..., Any]:
    return lambda kind, rows, row: types.void


@lower_builtin(foresee_row, types.TypeRef, types.Array, types.Integer)
def _emit_foresee_row(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0].instance_type
    size = 8 * sum(1 + getattr(of, "ndim", 0) for of in _parts(kind))
    begin = _begin_of_row(context, builder, signature.args[1:], args[1:])
    _emit_hints(builder, begin, size, early=True)
    return context.get_dummy_value()


@lower_builtin(foresee_first_arrays, types.TypeRef, types.Array, types.Integer)
def _emit_foresee_first_arrays(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    begin = _begin_of_row(context, builder, signature.args[1:], args[1:])
    first = list(_parts(signature.args[0].instance_type))[: CACHE_LINE // 8]
    for (place, _), part in zip(_places(signature.args[0].instance_type), first, strict=False):
        if isinstance(part, types.Array):
            word = builder.load(builder.gep(begin, [ir.IntType(64)(place)]))
            _emit_hints(builder, builder.inttoptr(word, ir.IntType(8).as_pointer()), 1, early=True)
    return context.get_dummy_value()


def _parts(of: Any) -> Iterator[Any]:
    """The arrays and numbers in a type; the tuples in it are gone through."""
    if isinstance(of, types.BaseTuple):
        for part in of:
            yield from _parts(part)
    else:
        yield of


def _places(of: Any) -> Iterator[tuple[int, int]]:
    """Where they are in a row."""
    return iter(places_in_row([getattr(part, "ndim", 0) for part in _parts(of)]))


def _begin_of_row(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """The address of an array's row: ``kinds`` and ``values`` are those of the array and of the row's number."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    row = context.cast(builder, values[1], kinds[1], types.int64)
    for width in cgutils.unpack_tuple(builder, array.shape)[1:]:
        row = builder.mul(row, width)
    return builder.gep(array.data, [row])


@type_callable(foresee_arrays)
def _type_of_foresee_arrays(context: Any) -> Callable[..., Any]:
    return lambda kind, rows, row: types.void


@lower_builtin(foresee_arrays, types.TypeRef, types.Array, types.Integer)
def _emit_foresee_arrays(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    begin = _begin_of_row(context, builder, signature.args[1:], args[1:])
    whole = signature.args[0].instance_type
    places = _places(whole)
    for own in whole:
        for part in _parts(own):
            place, _ = next(places)
            if part is own and isinstance(part, types.Array):
                word = builder.load(builder.gep(begin, [ir.IntType(64)(place)]))
                size = context.get_abi_sizeof(context.get_data_type(part.dtype))
                _emit_hints(builder, builder.inttoptr(word, ir.IntType(8).as_pointer()), size, early=True)
    return context.get_dummy_value()


@type_callable(fetch_and_add)
def _type_of_fetch_and_add(context: Any) -> Callable[..., Any]:
    return lambda array, amount: types.int64


@lower_builtin(fetch_and_add, types.Array, types.Integer)
def _emit_fetch_and_add(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    amount = context.cast(builder, args[1], signature.args[1], types.int64)
    return builder.atomic_rmw("add", data, amount, "seq_cst")


@type_callable(load)
def _type_of_load(context: Any) -> Callable[..., Any]:
    return lambda kind, rows, row: kind.instance_type


@lower_builtin(load, types.TypeRef, types.Array, types.Integer)
def _emit_load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    begin = _begin_of_row(context, builder, signature.args[1:], args[1:])
    number = ir.IntType(64)
    places = _places(signature.args[0].instance_type)

    def word(place: int) -> Any:
        return builder.load(builder.gep(begin, [number(place)]))

    def value(of: Any) -> Any:
        if isinstance(of, types.BaseTuple):
            return context.make_tuple(builder, of, [value(part) for part in of])
        place, shape_at = next(places)
        if not isinstance(of, types.Array):
            bits = word(place)
            if isinstance(of, types.Float):
                return context.cast(builder, builder.bitcast(bits, ir.DoubleType()), types.float64, of)
            return context.cast(builder, bits, types.int64, of)
        made = context.make_array(of)(context, builder)
        made.data = builder.inttoptr(word(place), made.data.type)
        shape = [word(shape_at + k) for k in range(of.ndim)]
        size = number(context.get_abi_sizeof(context.get_data_type(of.dtype)))
        items = number(1)
        strides: list[Any] = []
        for length in reversed(shape):
            strides.insert(0, builder.mul(items, size))
            items = builder.mul(items, length)
        made.meminfo, made.parent = (cgutils.get_null_value(one.type) for one in (made.meminfo, made.parent))
        made.nitems, made.itemsize = items, size
        made.shape, made.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
        return made._getvalue()

    return value(signature.args[0].instance_type)


@type_callable(seize)
def _type_of_seize(context: Any) -> Callable[..., Any]:
    return lambda lock, me: types.boolean


@lower_builtin(seize, types.Array, types.Integer)
def _emit_seize(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place = context.make_array(signature.args[0])(context, builder, args[0]).data
    me = context.cast(builder, args[1], signature.args[1], types.int64)
    done = builder.cmpxchg(place, ir.IntType(64)(0), me, "seq_cst")
    return builder.or_(builder.extract_value(done, 1), builder.icmp_signed("==", builder.extract_value(done, 0), me))


@type_callable(let_go)
def _type_of_let_go(context: Any) -> Callable[..., Any]:
    return lambda lock, me: types.void


@lower_builtin(let_go, types.Array, types.Integer)
def _emit_let_go(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place = context.make_array(signature.args[0])(context, builder, args[0]).data
    me = context.cast(builder, args[1], signature.args[1], types.int64)
    builder.cmpxchg(place, me, ir.IntType(64)(0), "seq_cst")
    return context.get_dummy_value()


@overload(give_way, strict=False, jit_options=OPTIONS)
def _give_way() -> Callable[..., Any]:
    def nothing() -> None:
        pass

    def posix() -> None:
        _sched_yield()

    return posix if os.name == "posix" else nothing


_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", -1)
_WINDOWS_TICK = max(1, round(time.get_clock_info("perf_counter").resolution * 1e9))  # nanoseconds


@overload(now_ns, strict=False, jit_options=OPTIONS)
def _now_ns(clock: Any) -> Callable[..., Any]:
    def posix(clock: Any) -> Any:
        _clock_gettime(_MONOTONIC, clock.ctypes.data)
        return clock[0] * 1_000_000_000 + clock[1]

    def windows(clock: Any) -> Any:
        _windows_counter(clock.ctypes.data)
        return clock[0] * _WINDOWS_TICK

    return posix if _MONOTONIC >= 0 else windows


_THREAD = getattr(time, "CLOCK_THREAD_CPUTIME_ID", -1)


@overload(busy_ns, strict=False, jit_options=OPTIONS)
def _busy_ns(clock: Any) -> Callable[..., Any]:
    def posix(clock: Any) -> Any:
        _clock_gettime(_THREAD, clock.ctypes.data)
        return clock[0] * 1_000_000_000 + clock[1]

    return posix if _THREAD >= 0 else lambda clock: now_ns(clock)
