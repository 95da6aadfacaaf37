"""Twenty units cross a map of rooms, one move per frame each, while cells around them turn into walls."""

import numpy as np

import timebound as tb

world = tb.Grid(tb.generate.rooms((48, 48), room=8, seed=4))
random = np.random.default_rng(4)
units = [
    tb.agent("tb-wa*:weight=2", world, problem.start, problem.goal, budget=30)
    for problem in tb.problems(world, 20, seed=4, cost=(20, 60))
]
frames = 0
while not all(unit.done for unit in units):
    if frames % 20 == 0 and frames < 200:
        # Edit between ticks. Nobody may stand, or want to go, where a wall appears.
        taken = {place for unit in units for place in (unit.position, unit.goal)}
        cell = world.point_of(int(world.random_states(1, random)[0]))
        if cell not in taken:
            world.block(cell)
    for unit in units:
        unit.step()
    frames += 1

ends = [unit.status for unit in units]
print(f"{frames} frames: {ends.count('reached')} units arrived, {ends.count('unreachable')} were cut off")
print(f"no unit planned more than {max(unit.result().expansions_per_move.max() for unit in units)} states on any move")
