"""Feedback: what a person thought of a turn, by thumbs, in words, or both."""

from datetime import datetime
from typing import Annotated

from fastapi import Response
from pydantic import StringConstraints

from opencrab.domain.errors import Refused
from opencrab.domain.value import Text, Value
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.learning import feedback
from opencrab.engine.learning.feedback import REMARK_CHARACTERS, Thumbs
from opencrab.gateways.rest.http.access import Caller, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View
from opencrab.ports.home import Home

router = http_routes_below("/api/turns", "turns")


class Feedback(Value, defer_build=False):
    """A rating of a turn, a comment on it, or both; one of them is required."""

    thumbs: Thumbs | None = None
    remark: Annotated[Text, StringConstraints(max_length=REMARK_CHARACTERS)] = ""


class FeedbackView(View):
    """Stored feedback, as an experience of the agent."""

    id: str
    turn_id: str
    thumbs: Thumbs | None
    lesson: str
    at: datetime


@router.post(
    "/{turn_id}/feedback",
    status_code=201,
    response_model=FeedbackView,
)
def give_feedback(
    api: Api, caller: Talker, turn_id: Id, once: Repeatable, body: Strict[Feedback]
) -> Response:
    """Rate a turn or comment on it.

    The feedback becomes an experience of the agent. An owner key may rate any turn, another key
    turns that its own messages started or that ran in a session it opened. If an owner has rated a
    turn, other ratings do not count.
    """

    def make() -> FeedbackView:
        _require_part(api.runtime.home, caller, turn_id)
        experience = feedback.give_feedback(
            api.runtime,
            turn_id,
            by=caller.principal.id,
            thumbs=body.thumbs,
            remark=body.remark,
            key=once.id_of("feedback"),
            by_owner=caller.is_owner,
        )
        thumbs = feedback.learning_feedback_thumbs(experience)
        return FeedbackView.of(experience, turn_id=experience.about_turn, thumbs=thumbs)

    return once.answer(body, make, status=201)


def _require_part(home: Home, caller: Caller, turn_id: str) -> None:
    """Raise Refused for a caller who had no part in a turn, and NotFound if there is none."""
    turn, who = home.journal.header(turn_id), caller.principal
    require_access_to_turn(home, who, turn)
    if caller.is_owner or turn.principal_id == who.id:
        return
    if home.sessions.get(turn.session_id).created_by != who.id:
        raise Refused(
            "only the key whose message started a turn, one that opened its session, or an owner"
            " key may send feedback on it",
            cure="use that key, or one with scope owner",
        )
