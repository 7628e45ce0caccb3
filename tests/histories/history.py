"""Plays one history, and finds the shortest part of it that still goes wrong."""

from __future__ import annotations

import random
import shutil
import traceback
from collections.abc import Sequence
from pathlib import Path

from .choose import choose
from .driver import Driver
from .steps import Step, play
from .world import World, Wrong, make_template

LENGTH = 22


class Stage:
    """A folder in which one history after the other is played."""

    def __init__(self, base: Path, *, real: bool = False) -> None:
        self.driver = Driver(base, real=real)
        self._base = base
        self._template = base / "template"
        self._count = 0
        make_template(self.driver, self._template)

    def world(self) -> World:
        """Three fresh clones."""
        self._count += 1
        self.driver.now = 1767312000.0
        with self.driver.installed():
            return World(self.driver, self._base / f"h{self._count}", self._template)

    def close(self) -> None:
        """Let go of everything."""
        self.driver.close()

    def random(self, seed: int, length: int = LENGTH) -> tuple[list[Step], str]:
        """Play a random history; returns its steps and what went wrong, if anything."""
        chance = random.Random(seed)
        steps: list[Step] = []

        def further(world: World) -> Step | None:
            if len(steps) == length:
                return None
            steps.append(choose(world, chance))
            return steps[-1]

        return steps, self._play(further)

    def replay(self, steps: Sequence[Step]) -> str:
        """Play these steps; returns what went wrong, if anything."""
        left = iter(steps)
        return self._play(lambda world: next(left, None))

    def _play(self, further: object) -> str:
        world = self.world()
        try:
            count = 0
            while (taken := further(world)) is not None:  # type: ignore[operator]
                count += 1
                play(world, taken)
                if taken[1] in world.places:
                    world.check(taken[1], whole=count % 7 == 0)
            world.finish()
        except Wrong as error:
            return str(error)
        except Exception:
            return traceback.format_exc()
        finally:
            shutil.rmtree(world.base, ignore_errors=True)
        return ""

    def shortest(self, steps: Sequence[Step], limit: int = 200) -> tuple[list[Step], str]:
        """The steps that are needed for something to go wrong, found by leaving out what can be left out."""
        best, fault = list(steps), self.replay(steps)
        size = max(1, len(best) // 2)
        while size and limit:
            at = 0
            while at < len(best) and limit:
                limit -= 1
                tried = best[:at] + best[at + size :]
                said = self.replay(tried)
                if said and ("Traceback" in said) == ("Traceback" in fault):
                    best, fault = tried, said
                else:
                    at += size
            size = size // 2
        return best, fault
