"""Subgoal databases of random records against those that cover: how well kNN LRTA* does with as many of either.

    python benchmarks/databases.py MAP [--scale K] [--cost LOW HIGH] [--problems N] [--limit MOVES]
                                   [--random N ...] [--coverage N ...]

Prints a row of a Markdown table for each database: its size, the time to make it, the cost as a multiple of the optimal
one, the share of problems solved, the states expanded before the first move, the most on any move, and the time of the
first move. A problem that is not solved within the limit counts with the cost of the moves made.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import timebound as tb


def row(world: tb.Grid, problems: list, records: int, coverage: bool, limit: int) -> str:
    began = time.perf_counter()
    database = tb.prepare(world, None, records=records, coverage=coverage, seed=1)
    built = time.perf_counter() - began
    ratios, solved, states, worst, first = [], 0, [], 0, []
    for problem in problems:
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=limit)
        before = time.perf_counter()
        agent.step()
        first.append(time.perf_counter() - before)
        result = agent.run().result(problem.optimal)
        ratios.append(result.cost / problem.optimal)
        solved += result.status == "reached"
        states.append(int(result.expansions_per_move[0]))
        worst = max(worst, int(result.expansions_per_move.max()))
    return (
        f"| {'coverage' if coverage else 'random'} | {len(database):,} | {database.nbytes / 1e3:,.0f} | {built:,.1f} "
        f"| {np.mean(ratios):.3f} | {np.median(ratios):.3f} | {np.percentile(ratios, 95):.2f} | {max(ratios):.2f} "
        f"| {solved / len(problems):.1%} | {np.mean(states):,.0f} | {worst:,} | {1e6 * np.median(first):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("map")
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--cost", type=float, nargs=2, default=(1, np.inf))
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--limit", type=int, default=200_000)
    parser.add_argument("--random", type=int, nargs="*", default=[1000, 4000, 10_000, 40_000])
    parser.add_argument("--coverage", type=int, nargs="*", default=[100, 400, 1000, 4000])
    options = parser.parse_args()
    world = tb.Grid.load(options.map)
    if options.scale > 1:
        world = world.scale(options.scale)
    problems = list(tb.problems(world, options.problems, seed=99, cost=tuple(options.cost)))
    for coverage in (False, True):
        tb.prepare(world, None, records=1, coverage=coverage)  # compiles
        start, goal = problems[0].start, problems[0].goal
        tb.agent("knn-lrta*", world, start, goal, database=tb.SubgoalDatabase.empty(world, coverage)).step()
    print(f"{options.map}: {world}, {len(problems)} problems\n")
    print("| records are | records | kB | seconds | mean | median | 95% | worst | solved | states | most states | µs |")
    print("|---|" + "--:|" * 11)
    for records in options.random:
        print(row(world, problems, records, False, options.limit), flush=True)
    for records in options.coverage:
        print(row(world, problems, records, True, options.limit), flush=True)


if __name__ == "__main__":
    main()
