"""Mix: how often each model is asked for one purpose and type of task, as it was learned."""

from typing import Annotated

from pydantic import Field

from opencrab.domain.models.routing import ModelReference, Use
from opencrab.domain.value import Unit, Value

MIXES = 40


class Mix(Value):
    """Weights of models by the aliases that name them; they add up to 1."""

    purpose: Use
    task_type: str
    weights: Annotated[dict[ModelReference, Unit], Field(min_length=1, max_length=20)]

    @property
    def subject(self) -> str:
        """The subject of the split, `purpose/task_type`, as adjustments name it."""
        return f"{self.purpose.value}/{self.task_type}"
