"""What all fuzzers share: damaged bytes, calls that are judged, and the books of what became of them.

A fuzzer is a module with ``fuzz(tally, random, count)``. It throws ``count`` inputs (or, for agents, moves) at the
package and notes in its tally what happened. An input may be refused with a ``timebound.Error`` of one sentence, or
accepted; anything else, a traceback, a hang or a wrong answer, is written down with all that is needed to repeat it.
"""

from __future__ import annotations

import faulthandler
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import timebound as tb
from timebound.kernels.jit import on_compile

__all__ = ["Tally", "damaged"]

HANG = 120.0  # seconds after which a single call counts as hanging; the process then ends with a traceback
_LONGEST_SENTENCE = 600  # characters


def _watch(kernel: str) -> None:
    """End the process with a traceback if nothing happens for so long."""
    faulthandler.dump_traceback_later(HANG, exit=True)


@dataclass
class Tally:
    """The books of one fuzzer."""

    name: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    moves: int = 0
    wrong: list[str] = field(default_factory=list)

    def judge(self, what: str, call: Callable[[], Any]) -> Any:
        """Call once: refused with one clear sentence, or accepted; anything else is wrong. Returns what it returned."""
        self.inputs += 1
        _watch("")
        before = on_compile(_watch)  # compiling takes its time, and is no hang: the clock begins anew
        try:
            result = call()
        except tb.Error as error:
            text = str(error)
            if not text or "\n" in text or len(text) > _LONGEST_SENTENCE:
                self.blame(what, f"not one sentence: {text!r}")
            self.refused += 1
            return None
        except Exception:
            self.blame(what, traceback.format_exc())
            return None
        finally:
            on_compile(before)
            faulthandler.cancel_dump_traceback_later()
        self.accepted += 1
        return result

    def blame(self, what: str, why: str) -> None:
        """Something is wrong: ``what`` repeats it."""
        self.wrong.append(f"{what}: {why}")
        print(f"{self.name}: {what}: {why}", file=sys.stderr, flush=True)


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """The bytes with a few things wrong: flipped bits, pieces lost, doubled, moved, overwritten, or cut off."""
    mutant = bytearray(data)
    for _ in range(int(random.integers(1, 5))):
        size = len(mutant)
        if size == 0:
            return bytes(random.integers(0, 256, 8, dtype=np.uint8))
        # Headers decide most: half of the damage is done to the first bytes.
        place = int(random.integers(min(size, 256) if random.integers(2) else size))
        piece = int(random.integers(1, 1 + min(32, size)))
        match int(random.integers(8)):
            case 0:
                mutant[place] ^= 1 << int(random.integers(8))
            case 1:
                mutant[place] = int(random.choice([0, 1, 9, 10, 32, 45, 48, 57, 127, 128, 255]))
            case 2:
                del mutant[place : place + piece]
            case 3:
                mutant[place:place] = mutant[place : place + piece]
            case 4:
                mutant[place : place + piece] = random.integers(0, 256, piece, dtype=np.uint8).tobytes()
            case 5:
                mutant[place:place] = str(int(random.choice([-1, 0, 10**6, 2**31, 2**32, 2**63, 10**30]))).encode()
            case 6:
                del mutant[place:]
            case _:
                other = int(random.integers(size))
                mutant[place : place + piece] = mutant[other : other + piece]
    return bytes(mutant)
