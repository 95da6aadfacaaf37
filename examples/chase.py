"""Four guards chase a thief through a house of rooms: each moves in every frame, he in every third.

He is a goal that moves. The guards are told, and go on with the searches that they have.
"""

import numpy as np

import timebound as tb

world = tb.Grid(tb.generate.rooms((64, 64), room=8, seed=5))
random = np.random.default_rng(5)
thief = (3, 3)
corners = [(60, 60), (60, 3), (3, 60), (33, 33)]
guards = [tb.agent("tb-wa*", world, corner, thief, budget=20) for corner in corners]
frames = 0
while not any(guard.position == thief for guard in guards):
    if frames % 3 == 0:
        if frames % 90 == 0:  # he has another place in mind
            place = world.point_of(int(world.random_states(1, random)[0]))
            way = iter(tb.solve(world, thief, place, "a*").path.tolist()[1:])
        thief = tuple(next(way, thief))
        for guard in guards:
            guard.retarget(thief)
    for guard in guards:
        guard.step()
    frames += 1

results = [guard.result() for guard in guards]
print(f"caught after {frames} frames; he moved {results[0].retargeted} times")
print(f"the guards began {sum(result.restarts for result in results)} searches anew")
print(f"no guard planned more than {max(result.expansions_per_move.max() for result in results)} states on any move")
