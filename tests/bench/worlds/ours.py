"""The product's own learner in a world of the bench, by the nightly run's own functions."""

from collections.abc import Sequence
from typing import Any, cast

from opencrab.domain.models.optimization import Aim, LearningMode, OptimizationGoal
from opencrab.domain.models.routing import Routing
from opencrab.engine.simulation.learning.policies import SimulatedDay
from opencrab.engine.simulation.learning.product import ProductPolicy
from tests.bench.worlds.families import Asked, BenchSkill, BenchWorld

AIM = Aim(
    leave=LearningMode.APPLY, goal=OptimizationGoal.MAXIMIZE_QUALITY, min_quality=0.0, explore=0.5
)
"""What the owner wants: as for the textbook's learners, no least quality, and room to try models.
"""


class Ours:
    """`ProductPolicy`, which sees of a world only its names, prices and budget."""

    def __init__(self, world: BenchWorld) -> None:
        self.world = world
        self.policy = ProductPolicy(cast("Any", world), aim=AIM)
        every = {f"model-{place + 1}": f"vendor:model-{place + 1}" for place in range(5)}
        self.policy.routing = Routing(default="model-3", aliases=every, selectable=tuple(every))

    def choose_model(self, asked: Asked) -> tuple[str, float]:
        """Return a model drawn from the traffic split."""
        return self.policy.choose_model(cast("Any", asked))

    def choose_skills(self, asked: Asked) -> tuple[list[BenchSkill], list[BenchSkill]]:
        """Return the skills that fit, and those of them withheld."""
        given, held = self.policy.choose_skills(cast("Any", asked))
        return cast("list[BenchSkill]", given), cast("list[BenchSkill]", held)

    def measured(self, skills: Sequence[BenchSkill]) -> tuple[str, ...]:
        """Return the names of those on trial."""
        return self.policy.measured_skills(cast("Any", skills))

    def learn(self, day: int, seen: SimulatedDay) -> None:
        """Run the night."""
        self.policy.learn_from_day(day, seen)

    def fates(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return the last verdict on each skill with the types of task that it is kept for."""
        return {each.skill: (each.verdict.value, each.only) for each in self.policy.decisions}
