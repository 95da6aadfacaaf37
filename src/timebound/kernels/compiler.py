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
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing.templates import AbstractTemplate, infer, infer_global

for _name in ("_ensure_finalized", "_finalize_dynamic_globals", "_get_module_for_linking", "_raise_if_finalized"):
    getattr(JITCodeLibrary, _name)
_ = CompileResult._find_referenced_environments

__all__ = ["HelperCompiler", "choice", "take_in", "uncollected"]


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
    passed_over: set[type],
    likenesses: dict[type, type],
) -> None:
    """Let kernels call ``function``: it is the helper for the NamedTuple type of its first argument.

    A type without one has that of the type that it looks like, or that for None, if there is one; types without one
    are then among those ``passed_over``.
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
            passed_over.update({kind, like} - helpers.keys())
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
