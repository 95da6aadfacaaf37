"""How Numba is made to compile kernels in half the time. Nothing here changes what a kernel does.

Numba takes each helper for a function that somebody may call: it optimises it, makes machine code of it, and only then
looks at what it is inlined into, where all is done again. Ours are never called; they only disappear into kernels. So:

* ``HelperCompiler`` ends with the LLVM text of a helper. Machine code is made of whole kernels alone.
* ``Choice`` is how a name with one text per type is looked up: by the type, not by trying all texts in turn.
* ``uncollected`` puts Python's garbage collector off while a kernel is compiled. It would look at millions of objects
  again and again, and find that all of them are still used.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from numba import njit, typeof, types
from numba._dispatcher import compute_fingerprint
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.cpu import CPUTargetOptions
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing.templates import AbstractTemplate, infer, infer_global

from ..errors import unfit_numba
from . import shipping
from .kernel_cache import PackageCache
from .texts import note, noting

for _owner, _names in (
    (CompileResult, ("_find_referenced_environments",)),
    (CPUDispatcher, ("compile", "get_call_template", "get_overload")),
    (CPUTargetOptions, ("_nrt", "forceinline", "no_cfunc_wrapper", "no_cpython_wrapper")),
    (JITCodeLibrary, ("_ensure_finalized", "_finalize_dynamic_globals")),
    (JITCodeLibrary, ("_get_module_for_linking", "_raise_if_finalized")),
):
    for _name in _names:
        getattr(_owner, _name)

__all__ = ["OPTIONS", "choice", "dispatcher_of", "entry_of", "fingerprint", "helper_of", "typed"]

# Nobody calls kernels through a pointer in C, so none is made: it takes long.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Text(JITCodeLibrary):
    """The LLVM text of a helper, and of those that it calls, for a kernel to take in."""

    def finalize(self) -> None:
        """All that is to be known is known; nothing is optimised, for it will be where it is inlined."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # Numba 0.61 has none
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code to point to."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What Numba tells of a function's environment, which has no place yet: see ``take_in``."""
        return _NoEnvironment(self._codegen)


class _NoEnvironment:
    """A code generator, but for ``set_env``."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoText(FunctionPass):
    """Chooses where the function goes."""

    _name = "timebound_into_text"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _Text(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


class HelperCompiler(CompilerBase):
    """Numba's compiler, for helpers that are inlined."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own, with one step more."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_IntoText, NopythonTypeInference)
        passes.finalize()
        return [passes]


def take_in(kernel: Any) -> None:
    """Give a kernel that was just compiled the environments of its helpers. Only what they print is in there."""
    for environment in kernel._find_referenced_environments():
        kernel.library.codegen.set_env(environment.env_name, environment)


def choice(
    function: Callable[..., Any],
    helpers: dict[type | None, Any],
    name: str,
    likenesses: dict[type, type],
) -> None:
    """Let kernels call ``function``: it is the helper for the NamedTuple type of its first argument.

    A type without one has that of the type that it looks like, or that for None, if there is one; that is then noted
    under its full ``name``.
    """

    class Choice(AbstractTemplate):
        key = function
        compiled: dict[Any, Any] = {}  # noqa: RUF012 - what Numba has made of it, by the types of the arguments

        def generic(self, args: Any, kws: Any) -> Any:
            kind = getattr(args[0], "instance_class", type(None))
            like = likenesses.get(kind, kind)
            helper = helpers.get(kind) or helpers.get(like) or helpers.get(None)
            if helper is None:
                return None
            note({(name, one) for one in {kind, like} - helpers.keys()})
            callee = types.Dispatcher(helper)
            signature = callee.get_call_type(self.context, args, kws)
            self.compiled[signature.args] = callee.get_overload(signature)
            return signature

        def get_impl_key(self, signature: Any) -> Any:
            return self.compiled[signature.args]

    infer(Choice)
    infer_global(function, types.Function(Choice))


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's garbage collector rests meanwhile, if it was at work."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# --- functions that are compiled ------------------------------------------------------------------------------------


def dispatcher_of(function: Any, kind: type[Any] | None = None, shipped: bool = True) -> Any:
    """A kernel, compiled when it is first called, and kept on disk where there is a place for it."""
    made = njit(**OPTIONS)(function)
    made.__class__ = kind or _Kernel
    try:
        # Where there is no folder to cache in (a read-only machine without a home) or no file, each process compiles.
        with suppress(RuntimeError, OSError):
            cache = PackageCache(function, shipped)
            _ = made._cache  # a name that nobody asks for could be set as well
            made._cache = cache
    except (AttributeError, TypeError) as problem:
        raise unfit_numba(problem) from problem
    return made


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


class _Noting(CPUDispatcher):
    """A compiled function that knows of each version which ``generic`` names have no text in it, or in what it calls.

    It is asked to compile whenever something that is compiled calls it, also if it has been before.
    """

    def compile(self, sig: Any) -> Any:
        with noting() as found:
            entrance = super().compile(sig)
        versions = self.__dict__.setdefault("passed_over", {})
        note(versions.setdefault(normalize_signature(sig)[0], found))
        return entrance


class _Compiled(_Noting):
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
    return dispatcher_of(kernel.py_func, _Compiled, shipped=False)


def helper_of(function: Any) -> Any:
    """A helper, compiled into the kernels that call it."""
    helper = njit(forceinline=True, no_cpython_wrapper=True, pipeline_class=HelperCompiler, **OPTIONS)(function)
    helper.__class__ = _Helper
    return helper


class _Helper(_Noting):
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
