"""How kernels are compiled: one decorator, one way to specialise by type, a clock, and a cache that notices edits.

Four rules, each measured (docs/kernels.md):

* Kernels never allocate, so they are compiled without reference counting (``_nrt=False``). NamedTuples of arrays
  may then be passed whole to inlined helpers at no cost.
* ``generic`` gives one name several texts, one per NamedTuple type. A kernel that calls it is compiled once per
  combination, and runs unchanged as plain Python when the JIT is off.
* The disk cache is keyed by every source file that can hold a kernel. Numba alone looks only at the file of the
  outermost function and would silently run old code after an edit in a helper.
* No ``fastmath``: ties decide trajectories.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.extending import intrinsic, overload

__all__ = [
    "at",
    "busy_ns",
    "generic",
    "inlined",
    "kernel",
    "lowest_bit",
    "now_ns",
    "on_compile",
    "prefetch",
    "sources_digest",
]

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent
# The folders whose functions can end up inside a kernel, and those that decide what is computed.
_KERNEL_FOLDERS = ("kernels", "algorithms")
_CODE_FOLDERS = (*_KERNEL_FOLDERS, "databases")
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}

COMPILED = not config.DISABLE_JIT


def sources_digest(package: Path = _PACKAGE, folders: tuple[str, ...] = _CODE_FOLDERS) -> bytes:
    """A digest of every source file that decides what is computed: kernels, algorithms, databases."""
    digest = blake2b(digest_size=16)
    for folder in folders:
        for file in sorted((package / folder).glob("*.py")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.digest()


_DIGEST = sources_digest(folders=_KERNEL_FOLDERS)


def _say_compiling(name: str) -> None:
    """The default notice: one line for a person at a terminal, nothing for a pipe."""
    if sys.stderr.isatty():
        print(f"timebound: compiling {name} (once per machine) ...", file=sys.stderr, flush=True)


_notice: Callable[[str], None] = _say_compiling


def on_compile(notice: Callable[[str], None]) -> Callable[[str], None]:
    """Call ``notice(kernel name)`` before each compilation from now on; returns the notice used before."""
    global _notice
    previous, _notice = _notice, notice
    return previous


class _StampedImpl(CompileResultCacheImpl):
    """Numba's cache entry, with the digest of all kernels' sources in its source stamp."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        stamp = self._locator.get_source_stamp()
        self._locator.get_source_stamp = lambda: (stamp, _DIGEST)


class _PackageCache(FunctionCache):
    _impl_class = _StampedImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except (AttributeError, ImportError):
            # The cache was written by another version, with types that this one does not have: begin it anew.
            self.flush()
            found = None
        if found is None:
            _notice(self._py_func.__name__.replace("_", " "))
        return found


def kernel(function: F) -> F:
    """Compile an entry point: called from Python, releases the GIL, cached on disk."""
    if not COMPILED:
        return function
    dispatcher = njit(**_OPTIONS)(function)
    # Where there is no folder to cache in (a read-only machine without a home), each process compiles.
    with suppress(RuntimeError):
        dispatcher._cache = _PackageCache(function)
    return dispatcher


def inlined(function: F) -> F:
    """Compile a helper that kernels call; it disappears into its caller."""
    return njit(forceinline=True, **_OPTIONS)(function) if COMPILED else function


def generic(function: F) -> F:
    """Make ``function`` a name with one text per NamedTuple type of its first argument.

    The decorated function is only the documentation of the contract; ``function.on(Type, ...)`` registers a text.
    """
    texts: dict[type, Callable[..., Any]] = {}

    def dispatch(*args: Any) -> Any:
        return texts[type(args[0])](*args)

    def on(*kinds: type) -> Callable[[F], F]:
        def register(text: F) -> F:
            for kind in kinds:
                texts[kind] = text
            if COMPILED:

                def choose(*args: Any) -> Callable[..., Any] | None:
                    return text if getattr(args[0], "instance_class", None) in kinds else None

                overload(dispatch, strict=False, jit_options={"forceinline": True, **_OPTIONS})(choose)
            return text

        return register

    dispatch.__name__ = function.__name__
    dispatch.__doc__ = function.__doc__
    dispatch.on = on
    return dispatch  # type: ignore[return-value]


if COMPILED:

    @intrinsic
    def _cttz(typing_context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), emit

    @intrinsic
    def _unsigned(typing_context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.cast(builder, args[0], signature.args[0], types.uint64)

        return types.uint64(value), emit

    @intrinsic
    def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            read, keep, data_cache = number(0), number(3), number(1)
            builder.call(hint, [builder.bitcast(builder.gep(data, [args[1]]), byte), read, keep, data_cache])
            return context.get_dummy_value()

        return types.void(array, index), emit

    # The C library's clock, called by name: unlike a ctypes pointer it can be cached on disk.
    _clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
    _windows_counter = types.ExternalFunction("QueryPerformanceCounter", types.int32(types.intp))
else:  # pragma: no cover - only the names are needed

    def _cttz(value: int) -> int:
        raise AssertionError

    _unsigned = _prefetch = _cttz


def lowest_bit(mask: int) -> int:
    """The index of the lowest set bit of a non-zero mask."""
    return int(mask & -mask).bit_length() - 1


def at(index: int) -> int:
    """An index known not to be negative: spares Numba's test for counting from the end."""
    return index


def prefetch(array: np.ndarray, index: int) -> None:
    """Tell the processor that ``array[index]`` will be read soon; it need not exist."""


def now_ns(clock: np.ndarray) -> int:
    """Nanoseconds of a steady clock; ``clock`` is an int64[2] to write into."""
    return time.perf_counter_ns()


def busy_ns(clock: np.ndarray) -> int:
    """Nanoseconds that this thread has been at work: time taken by others does not count. Ten times as dear to ask."""
    return time.thread_time_ns()


@overload(lowest_bit, strict=False, jit_options=_OPTIONS)
def _lowest_bit(mask: Any) -> Callable[..., Any]:
    return lambda mask: _cttz(types.int64(mask))


@overload(at, strict=False, jit_options=_OPTIONS)
def _at(index: Any) -> Callable[..., Any]:
    return lambda index: _unsigned(index)


@overload(prefetch, strict=False, jit_options=_OPTIONS)
def _prefetch_soon(array: Any, index: Any) -> Callable[..., Any]:
    return lambda array, index: _prefetch(array, index)


_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", -1)
_WINDOWS_TICK = max(1, round(time.get_clock_info("perf_counter").resolution * 1e9))  # nanoseconds


@overload(now_ns, strict=False, jit_options=_OPTIONS)
def _now_ns(clock: Any) -> Callable[..., Any]:
    def posix(clock: Any) -> Any:
        _clock_gettime(_MONOTONIC, clock.ctypes.data)
        return clock[0] * 1_000_000_000 + clock[1]

    def windows(clock: Any) -> Any:
        _windows_counter(clock.ctypes.data)
        return clock[0] * _WINDOWS_TICK

    return posix if _MONOTONIC >= 0 else windows


_THREAD = getattr(time, "CLOCK_THREAD_CPUTIME_ID", -1)


@overload(busy_ns, strict=False, jit_options=_OPTIONS)
def _busy_ns(clock: Any) -> Callable[..., Any]:
    def posix(clock: Any) -> Any:
        _clock_gettime(_THREAD, clock.ctypes.data)
        return clock[0] * 1_000_000_000 + clock[1]

    return posix if _THREAD >= 0 else lambda clock: now_ns(clock)
