"""How kernels are compiled: one decorator, one way to specialise by type, a clock, and a cache that notices edits.

Four rules, each measured (docs/kernels.md):

* Kernels never allocate, so they are compiled without reference counting (``_nrt=False``). NamedTuples of arrays
  may then be passed whole to inlined helpers at no cost.
* ``generic`` gives one name several texts, one per NamedTuple type. A kernel that calls it is compiled once per
  combination, and runs unchanged as plain Python when the JIT is off.
* The disk cache is keyed by every source file that can hold a kernel; for functions and types from elsewhere also by
  the files that they come from (``sources.py``). Numba alone looks only at the file of the outermost function and would
  silently run old code after an edit in a helper.
* No ``fastmath``: ties decide trajectories.
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib import metadata
from typing import Any, TypeVar

import numpy as np

from ..atomic import in_turn
from ..errors import Error
from .sources import (
    Origin,
    is_covered,
    is_found,
    is_our_type,
    origin_of_function,
    origin_of_type,
    sources_digest,
)


def _unfit(problem: object) -> Error:
    """The sentence for a Numba that is not built as this module takes it to be."""
    try:
        found = f"Numba {metadata.version('numba')}"
    except metadata.PackageNotFoundError:
        found = "this one"
    return Error(
        f"timebound works with Numba 0.61 to 0.68, and {found} differs from those ({' '.join(str(problem).split())}): "
        "pip install 'numba>=0.61,<0.69'"
    )


# All that is used of Numba without being promised by it is used in this file and in compiler.py, and looked for when
# they are imported.
try:
    from llvmlite import ir
    from numba import config, njit, typeof, types
    from numba._dispatcher import compute_fingerprint
    from numba.core import cgutils
    from numba.core.base import BaseContext
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
    from numba.core.cpu import CPUTargetOptions
    from numba.core.registry import CPUDispatcher
    from numba.extending import lower_builtin, overload, type_callable

    from . import shipping
    from .compiler import HelperCompiler, choice, take_in, uncollected

    for _owner, _names in (
        (types, ("BaseNamedTuple", "BaseTuple", "ExternalFunction", "TypeRef")),
        (BaseContext, ("cast", "get_abi_sizeof", "get_data_type", "get_dummy_value", "make_array", "make_tuple")),
        (cgutils, ("get_null_value", "pack_array", "unpack_tuple")),
        (CPUDispatcher, ("compile", "get_call_template", "get_overload")),
        (CPUTargetOptions, ("_nrt", "forceinline", "no_cfunc_wrapper", "no_cpython_wrapper")),
        (FunctionCache, ("_impl_class", "_index_key", "flush", "load_overload", "save_overload")),
        (IndexDataCacheFile, ("_dump", "_load_index", "flush", "load", "save")),
        (CompileResultCacheImpl, ("_locator_classes", "check_cachable", "filename_base", "rebuild", "reduce")),
        (ir.IRBuilder, ("atomic_rmw", "bitcast", "cmpxchg", "cttz", "extract_value", "gep", "icmp_signed")),
        (ir.IRBuilder, ("inttoptr", "or_", "ptrtoint", "select")),
        (ir.IntType, ("as_pointer",)),
        (ir.Module, ("declare_intrinsic",)),
    ):
        for _name in _names:
            getattr(_owner, _name)
except (ImportError, AttributeError) as _problem:
    raise _unfit(_problem) from _problem

__all__ = [
    "CACHE_LINE",
    "at",
    "busy_ns",
    "entry_of",
    "fetch_and_add",
    "fingerprint",
    "foresee",
    "foresee_arrays",
    "generic",
    "give_way",
    "inlined",
    "kept_in",
    "kernel",
    "let_go",
    "load",
    "looks_like",
    "lowest_bit",
    "now_ns",
    "on_compile",
    "prefetch",
    "seize",
    "sources_digest",
    "typed",
]

CACHE_LINE = 64  # bytes of a line of the processor's cache
_SHORT = 16  # items of an array that is read as a whole, or nearly so

F = TypeVar("F", bound=Callable[..., Any])

# Nobody calls kernels through a pointer in C, so none is made: it takes long.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

COMPILED = not config.DISABLE_JIT


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


def _beside(file: str) -> str:
    return os.path.join(os.path.dirname(file), "__pycache__")


class _ReadOnly:
    """The last place that Numba is sent to when it can write nowhere: what was compiled beside the source before."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _ReadOnly | None:
        # Of ours there may be code that ships, though there be none beside the source.
        there = os.path.isfile(file) and (os.path.isdir(_beside(file)) or is_covered(file))
        return cls(function, file) if there else None

    def ensure_cache_path(self) -> None:
        raise PermissionError(_beside(self._py_file))

    def get_cache_path(self) -> str:
        return _beside(self._py_file)

    def get_disambiguator(self) -> str:
        return str(self._line)

    def get_source_stamp(self) -> None:
        return None


class _Impl(CompileResultCacheImpl):
    """Numba's way to find a folder and a name for a kernel, with one place more to look."""

    _locator_classes = (*CompileResultCacheImpl._locator_classes, _ReadOnly)


# What was registered with ``generic`` from elsewhere, by type: where it comes from, and whether for a name of ours.
_texts_from_elsewhere: dict[type, list[tuple[Origin | None, bool]]] = {}


@cache
def _origin_of_type(kind: type) -> Origin | None:
    return origin_of_type(kind)


# NamedTuples from elsewhere by their full names; of more than one, all but the first were defined anew.
_types_by_name: dict[str, list[type]] = {}


def _make_distinct(kind: type) -> None:
    """Give a type from elsewhere a name that no other has: Numba tells two with fields of the same types by that alone.

    Otherwise one of two algorithms whose states look alike, or of a cell and the same cell run again, would run the
    code of the other.
    """
    same = _types_by_name.setdefault(f"{kind.__module__}.{kind.__qualname__}", [])
    if kind not in same:
        same.append(kind)
        kind.__name__ = f"{kind.__module__}.{kind.__qualname__}" + (f"#{len(same)}" if len(same) > 1 else "")


def _can_be_kept(kind: type) -> bool:
    """Whether code for a type from elsewhere can be told apart in another process too."""
    return is_found(kind) and _types_by_name.get(f"{kind.__module__}.{kind.__qualname__}", [kind])[0] is kind


def _remember_text(text: Callable[..., Any], kinds: tuple[type, ...], ours: bool) -> None:
    """Look at the files of a text from elsewhere, and of its types, while they are as they were imported."""
    if is_covered(text.__code__.co_filename):
        return
    origin = origin_of_function(text)
    for kind in kinds:
        if not is_our_type(kind):
            _make_distinct(kind)
            _origin_of_type(kind)
        _texts_from_elsewhere.setdefault(kind, []).append((origin, ours))


def _named_tuples(of: Any) -> set[type]:
    """All NamedTuples among the types of arguments, and inside of them."""
    found: set[type] = set()
    for one in of:
        if isinstance(one, types.TypeRef):
            found |= _named_tuples([one.instance_type])
        if isinstance(one, types.BaseTuple):
            found |= _named_tuples(set(one))
            if isinstance(one, types.BaseNamedTuple):
                found.add(one.instance_class)
    return found


def _from_elsewhere(arguments: Any) -> list[Origin | None]:
    """Where what takes part in a kernel for these types comes from, apart from the kernel itself and what is ours."""
    kinds = _named_tuples(arguments)
    origins = [_origin_of_type(kind) if _can_be_kept(kind) else None for kind in kinds if not is_our_type(kind)]
    kinds |= {_likenesses[kind] for kind in kinds if kind in _likenesses}
    texts = [text for kind in kinds for text in _texts_from_elsewhere.get(kind, ())]
    if not origins and not any(ours for _, ours in texts):
        return []  # our kernels cannot call what others made generic, though it be for types of ours
    return origins + [origin for origin, _ in texts]


class _Files(IndexDataCacheFile):
    """Numba's files for a kernel, which are believed only if they hold what was saved for this key and source.

    Numba itself believes them. One that was cut raises in each process from then on; and if a disk gets full, or a
    process is killed, between an index and the code that it names, older code of that name is run.
    """

    def save(self, key: Any, data: Any) -> None:
        body = self._dump(data)
        with in_turn(self._cache_path):  # two that write an index at once would lose what the one has to say
            try:
                self._load_index()
            except Exception:
                self.flush()
            super().save(key, (self._source_stamp, key, blake2b(body).digest(), body))

    def load(self, key: Any) -> Any:
        try:
            stamp, saved, digest, body = super().load(key)
            if (stamp, saved, digest) == (self._source_stamp, key, blake2b(body).digest()):
                return pickle.loads(body)
        except Exception:  # there is no end to what a damaged pickle raises, or one of another version
            pass
        return None  # it will be compiled, and saved in the place of whatever is there


class _PackageCache(FunctionCache):
    """The compiled code of one kernel on disk. Whatever is wrong there costs a compilation, and nothing else.

    What involves types or texts from elsewhere has files of its own, where those are: editing, moving or removing them
    must not make our own code compile anew. An edit overwrites these files, so they do not pile up. What ships
    (``shipping.py``) is ours alone, is looked at first, and is never written.
    """

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any], shipped: bool = True) -> None:
        super().__init__(function)
        self._words = function.__name__.replace("_", " ")
        file = function.__code__.co_filename
        covered = is_covered(file)
        self._own: list[Origin | None] = [] if covered else [origin_of_function(function)]
        self._shipped_as = _name_in_files(file, self._impl.filename_base) if covered and shipped else None

    def _files(self, sig: Any) -> list[_Files]:
        """Where the code for these types may be, the first place to write to; none if it must not be kept.

        In a notebook anything may have been defined anew since, and types in a script have another name elsewhere.
        """
        others = _from_elsewhere(getattr(sig, "args", sig))
        origins = [origin for origin in (*self._own, *others) if origin is not None]
        if len(origins) < len(self._own) + len(others):
            return []
        file, locator, name = inspect.getfile(self._py_func), self._impl.locator, self._impl.filename_base
        if others:
            homes = sorted({origin[:2] for origin in origins})
            name += "-" + blake2b(repr(homes).encode(), digest_size=8).hexdigest()
            file = min(origin.file for origin in origins)
            locator = _locator(self._py_func, file)
        if locator is None:
            return []
        stamps: dict[str, bytes] = {}
        for origin in origins:
            stamps |= origin.stamps_now()
        folders = [locator.get_cache_path(), *_passed_over(file, locator)]
        return [_Files(folder, name, (shipping.DIGEST, sorted(stamps.items()))) for folder in folders]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        for data in self._found(sig, target_context):
            if data is not None:
                with suppress(Exception):  # compiled by a Numba that is built otherwise, under the same version
                    return self._impl.rebuild(target_context, data)
        _notice(self._words)
        return None

    def _found(self, sig: Any, target_context: Any) -> Iterator[Any]:
        """Compiled code for these types, or None, from each place where it may be.

        It calls none of Numba's own runtime, which need not be made ready for it: that takes a third of a second.
        """
        key = self._index_key(sig, target_context.codegen())
        if self._shipped_as and not _from_elsewhere(getattr(sig, "args", sig)):
            yield shipping.find(self._shipped_as, key)
        for files in self._files(sig):
            yield files.load(key)

    def save_overload(self, sig: Any, data: Any) -> None:
        files = self._files(sig)
        if files and self._impl.check_cachable(data):
            with suppress(OSError):  # a full disk, or a folder that cannot be written any more
                files[0].save(self._index_key(sig, data.codegen), self._impl.reduce(data))


@cache
def _locator(function: Callable[..., Any], file: str) -> Any:
    """Numba's choice of a folder for what belongs to a file; None if there is none. It makes the folder if need be."""
    return next(filter(None, (one.from_function(function, file) for one in _Impl._locator_classes)), None)


def _passed_over(file: str, locator: Any) -> list[str]:
    """Folders that come before the locator's, and cannot be written: what was compiled there before can be read."""
    folders = [_beside(file)] if os.path.isfile(file) else []
    if config.CACHE_DIR:
        numbas = CompileResultCacheImpl._locator_classes[0]
        folders.insert(0, os.path.join(config.CACHE_DIR, numbas.get_suitable_cache_subpath(file)))
    chosen = locator.get_cache_path()
    return folders[: folders.index(chosen)] if chosen in folders else folders


def _name_in_files(file: str, base: str) -> str:
    """What a kernel is called where all of them lie together: the folder of its source, and Numba's name for it."""
    return f"{os.path.basename(os.path.dirname(file))}/{base}"


def kept_in(folder: str, cpu: str) -> Iterator[tuple[str, Any, Any]]:
    """All kernels of ours in a folder that was Numba's for what it compiles, if they were made of what there is now.

    Of each: the name that it has among those that ship, Numba's key, and its code. ``cpu`` is what it was compiled for.
    """
    for part in sorted(os.listdir(folder)):
        for index in sorted(os.listdir(os.path.join(folder, part))):
            base, _, suffix = index.rpartition(".")
            if suffix != "nbi":
                continue
            files = _Files(os.path.join(folder, part), base, (shipping.DIGEST, []))
            for key in files._load_index():
                data = files.load(key) if key[1][1:] == (cpu, "") else None
                if data is not None:
                    # Numba's name for a folder of kernels ends in a digest of where it lies.
                    yield f"{part.rpartition('_')[0]}/{base}", key, data


def kernel(function: F) -> F:
    """Compile an entry point: called from Python, releases the GIL, cached on disk."""
    if not COMPILED:
        return function
    return _dispatcher(function, _Kernel)


def _dispatcher(function: Any, kind: type[_Compiled], shipped: bool = True) -> Any:
    dispatcher = njit(**OPTIONS)(function)
    dispatcher.__class__ = kind
    try:
        # Where there is no folder to cache in (a read-only machine without a home) or no file, each process compiles.
        with suppress(RuntimeError, OSError):
            cache = _PackageCache(function, shipped)
            _ = dispatcher._cache  # a name that nobody asks for could be set as well
            dispatcher._cache = cache
    except (AttributeError, TypeError) as problem:
        raise _unfit(problem) from problem
    return dispatcher


def fingerprint(value: Any) -> bytes:
    """What tells the type of a value from others, in microseconds; Python types count by where they lie in memory."""
    return compute_fingerprint(value)


def typed(value: Any) -> Any:
    """The type that kernels see in a value. To work it out takes half a millisecond for the state of an agent."""
    return value if isinstance(value, types.Type) else typeof(value)


def entry_of(function: Any, samples: Any) -> Callable[..., Any]:
    """The compiled code of a kernel for values of these types, loaded or compiled now."""
    signature = tuple(typed(sample) for sample in samples)
    function.compile(signature)
    return function.overloads[signature].entry_point


class _Compiled(CPUDispatcher):
    """A compiled function."""

    def compile(self, sig: Any) -> Any:
        known = set(self.overloads)
        with uncollected():
            entrance = super().compile(sig)
        for types_of_arguments in set(self.overloads) - known:
            take_in(self.overloads[types_of_arguments])
        return entrance


class _Kernel(_Compiled):
    """A compiled function that Python calls. Compiled code may call it too, such as a function in a user's package."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        twin = self._to_link()
        return super().get_call_template(args, kws) if twin is None else twin.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        twin = self._to_link()
        return super().get_overload(sig) if twin is None else twin.get_overload(sig)

    def _to_link(self) -> Any:
        """What compiled code calls in its stead, if there is code that ships: that cannot be linked with."""
        return _linkable(self) if shipping.is_any_for(self.targetctx.codegen().magic_tuple()) else None


@cache
def _linkable(kernel: Any) -> Any:
    """The same kernel, always compiled here."""
    return _dispatcher(kernel.py_func, _Compiled, shipped=False)


def inlined(function: F) -> F:
    """Compile a helper that kernels call; it disappears into its caller.

    What Python would call it by is not made, for it takes a third of the time to compile everything. Whoever calls it
    from Python all the same, such as a test, gets it made at the first call.
    """
    if not COMPILED:
        return function
    helper = njit(forceinline=True, no_cpython_wrapper=True, pipeline_class=HelperCompiler, **OPTIONS)(function)
    helper.__class__ = _Helper
    return helper


class _Helper(CPUDispatcher):
    """A compiled function that only kernels call. Numba would jump to nowhere if Python called it."""

    def __call__(self, *args: Any) -> Any:
        return _entrance(self)(*args)


@cache
def _entrance(helper: Any) -> Any:
    """A compiled function that Python can call, and that calls the helper."""

    def entrance(*args: Any) -> Any:
        return helper(*args)

    dispatcher = njit(**OPTIONS)(entrance)
    dispatcher.__class__ = _Compiled
    return dispatcher


# NamedTuples that have all the fields of another: they answer every question as that does, unless they have a text.
_likenesses: dict[type, type] = {}


def looks_like(kind: type, other: type) -> None:
    """Let ``kind``, which has the fields of ``other`` and some more, have all its texts, now and later, of any name."""
    _likenesses[kind] = other


def generic(function: F) -> F:
    """Make ``function`` a name with one text per NamedTuple type of its first argument.

    The decorated function is only the documentation of the contract; ``function.on(Type, ...)`` registers a text, and
    ``function.otherwise`` the text for types that have none, if there is to be one. A type that looks like another
    (``looks_like``) has the text of that one, if it has none of its own.
    """
    texts: dict[type, Callable[..., Any]] = {}
    rest: list[Callable[..., Any]] = []  # the text for all other types, if there is one
    helpers: dict[type | None, Any] = {}  # the same compiled; that of ``rest`` by the name None
    passed_over: set[type] = set()  # types that it was compiled for
    ours = is_covered(function.__code__.co_filename)

    def dispatch(*args: Any) -> Any:
        text = texts.get(type(args[0]))
        if text is None:
            kind = type(args[0])
            kind = _likenesses.get(kind, kind)
            text = texts.get(kind, rest[0]) if rest else texts[kind]
        return text(*args)

    def on(*kinds: type) -> Callable[[F], F]:
        def register(text: F) -> F:
            for kind in kinds:
                name = kind.__qualname__.rpartition(".")[2]
                if kind in texts:
                    # What was compiled for the type would go on to run the text of before.
                    raise Error(
                        f"{function.__name__} has a text for {name} already; "
                        "to change it, define the NamedTuple anew as well"
                    )
                if kind in passed_over:
                    raise Error(
                        f"{function.__name__} was compiled for {name} before it had a text; "
                        "register the text before the first agent is made"
                    )
                texts[kind] = text
            if COMPILED:
                _remember_text(text, kinds, ours)
                helpers.update(dict.fromkeys(kinds, inlined(text)))
            return text

        return register

    def otherwise(text: F) -> F:
        rest.append(text)
        if COMPILED:
            helpers[None] = inlined(text)
        return text

    dispatch.__name__ = function.__name__
    dispatch.__doc__ = function.__doc__
    dispatch.on = on
    dispatch.otherwise = otherwise
    if COMPILED:
        choice(dispatch, helpers, passed_over, _likenesses)
    return dispatch  # type: ignore[return-value]


if COMPILED:
    # The C library's clock, called by name: unlike a ctypes pointer it can be cached on disk.
    _clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
    _windows_counter = types.ExternalFunction("QueryPerformanceCounter", types.int32(types.intp))
    _sched_yield = types.ExternalFunction("sched_yield", types.int32())


def lowest_bit(mask: int) -> int:
    """The index of the lowest set bit of a non-zero mask."""
    return int(mask & -mask).bit_length() - 1


def at(index: int) -> int:
    """An index known not to be negative: spares Numba's test for counting from the end."""
    return index


def prefetch(array: np.ndarray, index: int) -> None:
    """Tell the processor that ``array[index]`` will be read soon; it need not exist."""


_one_at_a_time = threading.Lock()


def fetch_and_add(array: np.ndarray, amount: int) -> int:
    """Add to the first number of an array, at once whatever other threads do; returns what it was before."""
    with _one_at_a_time:
        before = int(array[0])
        array[0] += amount
        return before


def load(kind: Any, rows: np.ndarray, row: int) -> Any:
    """The value in a row of a shelf (``native.Shelf``)."""
    return rows[row, 0][0]


def foresee(array: np.ndarray, row: int) -> None:
    """Tell the processor that ``array[row]``, a record or a row of a shelf, will be read soon."""


def foresee_arrays(kind: Any, rows: np.ndarray, row: int) -> None:
    """Tell the processor that the value in a row of a shelf will be used soon: the beginnings of its arrays.

    Long ones of NamedTuples in it are left out: they are tables, and where they will be read depends on what is asked.
    It reads the row, which should have been foreseen itself.
    """


def seize(lock: np.ndarray, me: int) -> bool:
    """Take a lock, an int64[1] that is 0 while nobody has it; False if someone else has. ``me`` is not 0."""
    with _one_at_a_time:
        if lock[0] not in (0, me):
            return False
        lock[0] = me
        return True


def let_go(lock: np.ndarray, me: int) -> None:
    """Give a lock back; does no harm if it was not ours."""
    if lock[0] == me:
        lock[0] = 0


def give_way() -> None:
    """Let another thread run while this one waits for a lock."""
    time.sleep(0)


def now_ns(clock: np.ndarray) -> int:
    """Nanoseconds of a steady clock; ``clock`` is an int64[2] to write into."""
    return time.perf_counter_ns()


def busy_ns(clock: np.ndarray) -> int:
    """Nanoseconds that this thread has been at work: time taken by others does not count. Ten times as dear to ask."""
    return time.thread_time_ns()


# What the processor has an instruction for is written there and then: as functions, these would be most of all calls.


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
def _type_of_prefetch(context: Any) -> Callable[..., Any]:
    return lambda array, index: types.void


@lower_builtin(prefetch, types.Array, types.Integer)
def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    _emit_hints(builder, builder.gep(data, [args[1]]), 1)
    return context.get_dummy_value()


def _emit_hints(builder: Any, address: Any, size: int) -> None:
    """So many bytes from an address on will be read soon."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    read, keep, data_cache = number(0), number(3), number(1)
    begin = builder.bitcast(address, byte)
    for offset in range(0, size, CACHE_LINE):
        builder.call(hint, [builder.gep(begin, [number(offset)]), read, keep, data_cache])


@type_callable(foresee)
def _type_of_foresee(context: Any) -> Callable[..., Any]:
    return lambda array, row: types.void


@lower_builtin(foresee, types.Array, types.Integer)
def _emit_foresee(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    of = signature.args[0]
    if of.ndim == 1:
        size = context.get_abi_sizeof(context.get_data_type(of.dtype))
    else:
        size = 4 * CACHE_LINE  # how wide a row is, is not known here; of a wide one the processor then guesses the rest
    _emit_hints(builder, _begin_of_row(context, builder, signature.args, args), size)
    return context.get_dummy_value()


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
    place = 0

    def tell(of: Any, own: bool) -> None:
        nonlocal place
        if isinstance(of, types.BaseTuple):
            for part in of:
                tell(part, own and not isinstance(part, types.BaseTuple))
            return
        if isinstance(of, types.Array):
            word = builder.load(builder.gep(begin, [ir.IntType(64)(place)]))
            if not own:
                length = builder.load(builder.gep(begin, [ir.IntType(64)(place + 1)]))
                short = builder.icmp_signed("<=", length, ir.IntType(64)(_SHORT))
                word = builder.select(short, word, builder.ptrtoint(begin, ir.IntType(64)))  # which is there already
            size = context.get_abi_sizeof(context.get_data_type(of.dtype))
            _emit_hints(builder, builder.inttoptr(word, ir.IntType(8).as_pointer()), size)
        place += 1 + getattr(of, "ndim", 0)

    tell(signature.args[0].instance_type, True)
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
    places = iter(range(1 << 20))

    def word() -> Any:
        return builder.load(builder.gep(begin, [number(next(places))]))

    def value(of: Any) -> Any:
        if isinstance(of, types.BaseTuple):
            return context.make_tuple(builder, of, [value(part) for part in of])
        if not isinstance(of, types.Array):
            bits = word()
            if isinstance(of, types.Float):
                return context.cast(builder, builder.bitcast(bits, ir.DoubleType()), types.float64, of)
            return context.cast(builder, bits, types.int64, of)
        made = context.make_array(of)(context, builder)
        made.data = builder.inttoptr(word(), made.data.type)
        shape = [word() for _ in range(of.ndim)]
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
