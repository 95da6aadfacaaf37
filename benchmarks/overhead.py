"""What the lab costs over the bare runs: planning, records and commits, as a share of the time of the episodes.

    python benchmarks/overhead.py [tba|tbbfs|chapter] [--share 0.2]

Every sweep is run bare, twice by the lab and bare again, so that a machine that slows down slows both. Times are the
process's own, its threads included. Opening and closing a file of records counts for the lab, once a sweep; in a real
run it happens once in all.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import timebound as tb
from timebound.lab.engine import Commits, run
from timebound.lab.experiment import Run, plan
from timebound.lab.paper import QUICK, Maps
from timebound.lab.reproduce import find
from timebound.lab.store import Store
from timebound.warmup import warm
from timebound.worlds.changes import RandomChanges


def bare(one: Run) -> None:
    """The episode and nothing else."""
    setting = one.setting
    changes = None
    if setting.change_rate is not None:
        changes = RandomChanges(setting.change_rate, every=setting.change_every, seed=one.number)
    tb.solve(
        one.world.open(),
        one.problem.start,
        one.problem.goal,
        one.spec,
        budget=None if one.budget == "none" else one.budget,
        commit=setting.commit,
        move_limit=setting.move_limit,
        optimal=one.problem.optimal,
        non_optimal=setting.non_optimal,
        changes=changes,
    )


def main() -> None:
    """Print the share, by sweep and in all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", nargs="?", default="tba")
    parser.add_argument("--share", type=float, default=0.2, help="of the problems of the quick size")
    given = parser.parse_args()
    warm(kinds=("grid",))
    drawn: dict[str, object] = {}

    def remembered(key, draw):
        if key not in drawn:
            drawn[key] = draw()
        return drawn[key]

    every = max(1, round(1 / given.share))
    total = {"bare": 0.0, "lab": 0.0}
    for sweep in find(given.paper).sweeps(QUICK, Maps.at(None)):
        runs = [one for one in plan(sweep, remembered) if one.number % every == 0]
        if sweep.kind != "episode" or not runs:
            continue

        def in_the_lab(sweep=sweep) -> float:
            before = time.process_time()
            with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.duckdb") as store:
                planned = {one.key: one for one in plan(sweep, remembered) if one.number % every == 0}
                for _ in run([*planned.values()], Commits(store), size=2048):
                    pass
            return time.process_time() - before

        def alone(runs=runs) -> float:
            before = time.process_time()
            for one in runs:
                bare(one)
            return time.process_time() - before

        alone()  # warm
        times = [alone(), in_the_lab(), in_the_lab(), alone()]
        spent = {"bare": (times[0] + times[3]) / 2, "lab": (times[1] + times[2]) / 2}
        for name in total:
            total[name] += spent[name]
        each, share = spent["bare"] / len(runs) * 1e3, spent["lab"] / spent["bare"] - 1
        print(f"{sweep.name:28} {len(runs):6} runs {each:9.3f} ms each, bare   lab {share:+7.1%}", flush=True)
    share = total["lab"] / total["bare"] - 1
    print(f"{'in all':28} {total['bare']:.1f} s bare, {total['lab']:.1f} s in the lab: {share:+.1%}")


if __name__ == "__main__":
    main()
