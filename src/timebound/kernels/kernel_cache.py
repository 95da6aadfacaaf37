"""Compiled kernels on disk: where they lie, when they are believed, and what they are made anew for.

The cache is keyed by every source file that can hold a kernel; for functions and types from elsewhere also by the files
that they come from (``sources.py``). Numba alone looks only at the file of the outermost function and would silently
run old code after an edit in a helper.
"""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from typing import Any

from numba import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from ..atomic import in_turn
from . import shipping
from .notice import tell_of
from .sources import Origin, is_covered, is_our_type, origin_of_function
from .texts import (
    can_be_kept,
    likenesses,
    origin_of,
    recall_passed_over,
    texts_from_elsewhere,
    who_is_passed_over,
)

for _owner, _names in (
    (types, ("BaseNamedTuple", "BaseTuple", "TypeRef")),
    (FunctionCache, ("_impl_class", "_index_key", "flush", "load_overload", "save_overload")),
    (IndexDataCacheFile, ("_dump", "_load_index", "flush", "load", "save")),
    (CompileResultCacheImpl, ("_locator_classes", "check_cachable", "filename_base", "rebuild", "reduce")),
):
    for _name in _names:
        getattr(_owner, _name)

__all__ = ["Files", "PackageCache", "kept_in"]


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


def _from_elsewhere(arguments: Any, ours: bool) -> list[Origin | None]:
    """Where what takes part in a kernel for these types comes from, apart from what is ours, as the kernel may be."""
    kinds = _named_tuples(arguments)
    origins = [origin_of(kind) if can_be_kept(kind) else None for kind in kinds if not is_our_type(kind)]
    kinds |= {likenesses[kind] for kind in kinds if kind in likenesses}
    texts = [text for kind in kinds for text in texts_from_elsewhere.get(kind, ())]
    if ours and not origins and not any(of_ours for _, of_ours in texts):
        return []  # our kernels cannot call what others made generic, though it be for types of ours
    return origins + [origin for origin, _ in texts]


class Files(IndexDataCacheFile):
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


class PackageCache(FunctionCache):
    """The compiled code of one kernel on disk. Whatever is wrong there costs a compilation, and nothing else.

    What involves types or texts from elsewhere has files of its own, where those are: editing, moving or removing them
    must not make our own code compile anew. An edit overwrites these files, so they do not pile up. What ships
    (``shipping.py``) is ours alone, is looked at first, and is never written.
    """

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any], shipped: bool = True) -> None:
        super().__init__(function)
        self._words = function.__name__.strip("_").replace("_", " ")
        file = function.__code__.co_filename
        covered = is_covered(file)
        self._own: list[Origin | None] = [] if covered else [origin_of_function(function)]
        self._shipped_as = _name_in_files(file, self._impl.filename_base) if covered and shipped else None

    def _files(self, sig: Any) -> list[Files]:
        """Where the code for these types may be, the first place to write to; none if it must not be kept.

        In a notebook anything may have been defined anew since, and types in a script have another name elsewhere.
        """
        others = _from_elsewhere(getattr(sig, "args", sig), not self._own)
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
        folders = [locator.get_cache_path(), *_earlier_folders(file, locator)]
        return [Files(folder, name, (shipping.DIGEST, sorted(stamps.items()))) for folder in folders]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        for data in self._found(sig, target_context):
            if data is not None:
                *reduced, passed_over = data
                with suppress(Exception):  # compiled by a Numba that is built otherwise, under the same version
                    code = self._impl.rebuild(target_context, tuple(reduced))
                    recall_passed_over(passed_over, _named_tuples(getattr(sig, "args", sig)))
                    return code
        tell_of(self._words)
        return None

    def _found(self, sig: Any, target_context: Any) -> Iterator[Any]:
        """Compiled code for these types, or None, from each place where it may be.

        It calls none of Numba's own runtime, which need not be made ready for it: that takes a third of a second.
        """
        key = self._index_key(sig, target_context.codegen())
        if self._shipped_as and not _from_elsewhere(getattr(sig, "args", sig), not self._own):
            yield shipping.find(self._shipped_as, key)
        for files in self._files(sig):
            yield files.load(key)

    def save_overload(self, sig: Any, data: Any) -> None:
        files = self._files(sig)
        if files and self._impl.check_cachable(data):
            with suppress(OSError):  # a full disk, or a folder that cannot be written any more
                # With what nobody may register a text for once this code is in use, whoever has compiled it.
                files[0].save(self._index_key(sig, data.codegen), (*self._impl.reduce(data), who_is_passed_over()))


@cache
def _locator(function: Callable[..., Any], file: str) -> Any:
    """Numba's choice of a folder for what belongs to a file; None if there is none. It makes the folder if need be."""
    return next(filter(None, (one.from_function(function, file) for one in _Impl._locator_classes)), None)


def _earlier_folders(file: str, locator: Any) -> list[str]:
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
            files = Files(os.path.join(folder, part), base, (shipping.DIGEST, []))
            for key in files._load_index():
                data = files.load(key) if key[1][1:] == (cpu, "") else None
                if data is not None:
                    # Numba's name for a folder of kernels ends in a digest of where it lies.
                    yield f"{part.rpartition('_')[0]}/{base}", key, data
