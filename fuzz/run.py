"""Everything that can come in, at random: files, arrays, arguments, databases, stores, agents, problems, fleets.

``make fuzz`` takes some minutes. Each fuzzer counts its inputs (agents: moves, soak: ticks), and what was refused in
one sentence; a traceback, a hang or a wrong answer is printed with what repeats it, and the exit code is 1. The same
seed gives the same inputs. ``python fuzz/run.py readers --count 200 --seed 7`` runs one of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import Tally

HERE = Path(__file__).resolve().parent

COUNTS = {
    "readers": 12_000,
    "arguments": 6_000,
    "databases": 6_000,
    "stores": 600,
    "agents": 5_200_000,  # moves
    "control": 10_000,
    "soak": 200_000,  # ticks
}


def fuzzer(name: str) -> ModuleType:
    """The fuzzer in the file of that name. Others have modules called databases and agents too."""
    known = f"fuzz_{name}"
    if known not in sys.modules:
        spec = spec_from_file_location(known, HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


def run(name: str, seed: int, count: int) -> Tally:
    """One fuzzer."""
    tally = Tally(name)
    fuzzer(name).fuzz(tally, np.random.default_rng([seed, *name.encode()]), count)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(COUNTS)}; without, all")
    parser.add_argument(
        "--count", type=int, help="inputs (agents: moves, soak: ticks); without, as many as make fuzz takes"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    print(f"{'':10} {'inputs':>8} {'accepted':>9} {'refused':>8} {'moves':>10} {'wrong':>6} {'seconds':>8}")
    for name in options.names or COUNTS:
        begun = time.perf_counter()
        tally = run(name, options.seed, options.count or COUNTS[name])
        taken = time.perf_counter() - begun
        wrong += len(tally.wrong)
        print(
            f"{name:10} {tally.inputs:8,} {tally.accepted:9,} {tally.refused:8,} {tally.moves:10,} "
            f"{len(tally.wrong):6} {taken:8.0f}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
