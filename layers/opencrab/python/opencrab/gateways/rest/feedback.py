"""Feedback: what a person thought of a turn, by thumbs, in words, or both."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import StringConstraints

from opencrab.domain.memory import Experience
from opencrab.domain.value import Text, Value
from opencrab.engine import feedback
from opencrab.engine.feedback import REMARK_CHARACTERS, Thumbs
from opencrab.gateways.rest.access import Talker
from opencrab.gateways.rest.body import JsonRoute, strictly
from opencrab.gateways.rest.repeat import Repeatable
from opencrab.gateways.rest.rest import Api, Id

router = APIRouter(prefix="/api/turns", tags=["turns"], route_class=JsonRoute)


class Feedback(Value, defer_build=False):
    """What somebody thought of a turn; at least one of the two."""

    thumbs: Thumbs | None = None
    remark: Annotated[Text, StringConstraints(max_length=REMARK_CHARACTERS)] = ""


class FeedbackView(Value):
    """Feedback as it is kept, as an experience of the agent."""

    id: str
    turn_id: str
    thumbs: Thumbs | None
    lesson: str
    at: datetime

    @classmethod
    def of(cls, experience: Experience) -> "FeedbackView":
        """An experience that somebody's feedback became."""
        return cls(
            id=experience.id,
            turn_id=experience.about_turn,
            thumbs=feedback.thumbs_of(experience),
            lesson=experience.lesson,
            at=experience.at,
        )


@router.post(
    "/{turn_id}/feedback",
    status_code=201,
    response_model=FeedbackView,
    summary="Say what you think of a turn",
    operation_id="give_feedback",
)
def give(
    api: Api,
    caller: Talker,
    turn_id: Id,
    once: Repeatable,
    body: Annotated[Feedback, strictly(Feedback)],
) -> Response:
    """Thumbs or a remark on what an agent said or did; it becomes an experience of the agent."""

    def make() -> FeedbackView:
        experience = feedback.give(
            api.runtime,
            turn_id,
            by=caller.principal.id,
            thumbs=body.thumbs,
            remark=body.remark,
            key=once.id_of("feedback"),
        )
        return FeedbackView.of(experience)

    return once.answer(body, make, status=201)
