"""``make wheel``: a wheel for this Python and system with compiled kernels inside, a pure one, and the sources.

Kernels are compiled for each family of processors (`timebound.kernels.shipping.TARGETS`), by `timebound warmup` into
a folder of its own: what was compiled before an interruption is found there again. They are then packed, one file for
each family, and put into a wheel. Nothing reaches ``dist`` unless the wheel has run everything without compiling.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from timebound.kernels import kernel_cache, shipping
from timebound.warmup import KINDS

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "kernels"
DIST = ROOT / "dist"

# All that machine code may call by name. What Numba and Python give is there before anything is compiled; Numba's
# runtime (NRT_...) is not. Of the C library it is what every glibc since 2.17 has, and so says the tag of the wheel;
# Numba itself asks for a newer one.
OUTSIDE = re.compile(r"Py[A-Z_]\w*|_Py_\w+|numba_\w+|clock_gettime|sched_yield|mem(cpy|move|set)|a?(sin|cos|tan)|sqrt")
TAG = "manylinux_2_17"

# Compile nothing, or say what: all that `timebound warmup` runs, then the README's examples.
TRIAL = """
import sys, timebound
from timebound.kernels import jit
from timebound.warmup import KINDS, warm
compiled = []
warm(lambda step, seconds, names: compiled.extend(f"{step}: {name}" for name in names), kinds=KINDS)
jit.on_compile(lambda name: compiled.append(f"README: {name}"))
for example in sys.argv[1:]:
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
sys.exit("had to compile " + ", ".join(compiled) if compiled else 0)
"""


def targets() -> list[shipping.Target]:
    """The families that processors of this kind belong to."""
    machine = llvm.get_process_triple().partition("-")[0]
    found = [target for target in shipping.TARGETS if target.machine == machine]
    if not found or not sys.platform.startswith("linux"):
        sys.exit(f"kernels are shipped for Linux on {' and '.join(sorted({t.machine for t in shipping.TARGETS}))} only")
    return found


def environment(**changes: str) -> dict[str, str]:
    """That of this process, without what would make Numba compile otherwise than by default."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "TIMEBOUND_"))}
    return {**kept, "NUMBA_DISABLE_INTEL_SVML": "1", **changes}


def run(*command: str | Path, cwd: Path = ROOT, **changes: str) -> None:
    done = subprocess.run([sys.executable, *map(str, command)], env=environment(**changes), cwd=cwd, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:80]}: failed")


def compiled_for(target: shipping.Target) -> Iterator[tuple[str, Any, Any]]:
    """Compile for a family, and give each kernel in the form in which it is shipped."""
    folder = BUILD / target.name
    print(f"compiling for {target.name}", flush=True)
    run(
        "-m", "timebound.cli", "warmup", "--worlds", ",".join(KINDS),
        NUMBA_CACHE_DIR=str(folder), NUMBA_CPU_NAME=target.cpu, NUMBA_CPU_FEATURES="",
    )  # fmt: skip
    for name, key, data in kernel_cache.kept_in(str(folder), target.cpu):
        module = llvm.parse_bitcode(data[0][2][1])
        called = {one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")}
        strange = sorted(one for one in called if not OUTSIDE.fullmatch(one))
        if strange:
            sys.exit(f"{name} calls {', '.join(strange)}, which a wheel tagged {TAG} cannot promise to be there")
        yield name, key, shipping.lean(data)


def pack(folder: Path) -> None:
    """One file of kernels for each family."""
    for target in targets():
        path = folder / (target.name + shipping.SUFFIX)
        count = shipping.write(path, compiled_for(target))
        print(f"{path.name}: {count} kernels, {path.stat().st_size / 1e6:.1f} MB", flush=True)


def build(folder: Path, kernels: Path) -> None:
    """All three, by hatchling."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    machine = sysconfig.get_platform().rpartition("-")[2]
    run("-m", "hatchling", "build", "-d", folder, "-t", "sdist", "-t", "wheel")
    run(
        "-m", "hatchling", "build", "-d", folder, "-t", "wheel",
        TIMEBOUND_KERNELS=str(kernels), TIMEBOUND_TAG=f"{python}-{python}-{TAG}_{machine}",
    )  # fmt: skip


def check(wheels: list[Path], scratch: Path) -> None:
    """The one without kernels has none; the other needs to compile nothing, whichever family is the best."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as inside:
            shipped = sorted(name for name in inside.namelist() if name.endswith(shipping.SUFFIX))
            if wheel.name.endswith("-py3-none-any.whl"):
                if shipped:
                    sys.exit(f"{wheel.name} is for every system, and has machine code in it")
                continue
            inside.extractall(scratch)
        examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        for avx in ("1", "0"):
            nowhere = scratch / "nothing compiled"
            run(
                "-c",
                TRIAL,
                *examples,
                cwd=scratch,
                PYTHONPATH=str(scratch),
                NUMBA_CACHE_DIR=str(nowhere),
                NUMBA_ENABLE_AVX=avx,
            )


def main() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    fresh = BUILD / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    for part in ("packed", "dist", "scratch"):
        (fresh / part).mkdir(parents=True)
    pack(fresh / "packed")
    build(fresh / "dist", fresh / "packed")
    files = sorted((fresh / "dist").iterdir())
    check([file for file in files if file.suffix == ".whl"], fresh / "scratch")
    DIST.mkdir(exist_ok=True)
    for file in files:
        print(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")
        os.replace(file, DIST / file.name)
    shutil.rmtree(fresh)


if __name__ == "__main__":
    main()
