"""The outcome of a discussion: who may write it, whom a name means, and what is unanswered."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.session import Ending, Mode, Participant, Session
from opencrab.domain.discussion.outcome import (
    OUTCOME_REQUEST,
    DiscussionOutcome,
    OutcomeTask,
    TaskAnswer,
    discussion_outcome_writers,
    discussion_task_request_id,
    is_discussion_outcome_turn,
    is_discussion_task_answer_turn,
    same_discussion_participant_name,
)
from opencrab.domain.identifier import turn_id
from opencrab.domain.turn.turn import Trigger, Turn

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def session(**fields: object) -> Session:
    seats = [Participant(agent_id=name, turns=1) for name in ("kai", "nami", "umi")]
    watching = Participant(agent_id="tsuki", role="observer", turns=1)
    return Session(
        id="s",
        mode=Mode.AUTONOMOUS,
        participants=(*seats, watching, Participant(agent_id="late")),
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    ).replaced(**fields)


@pytest.mark.parametrize(
    ("fields", "writers"),
    [
        ({}, ("kai", "nami", "umi")),
        ({"speaker_id": "umi"}, ("umi", "kai", "nami")),
        ({"speaker_id": "umi", "facilitator_id": "nami"}, ("nami", "umi", "kai")),
        ({"speaker_id": "gone"}, ("kai", "nami", "umi")),
    ],
)
def test_the_facilitator_writes_else_the_last_speaker_and_never_an_observer(
    fields: dict[str, object], writers: tuple[str, ...]
) -> None:
    assert discussion_outcome_writers(session(**fields)) == writers


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Nami", "nami ", True),
        ("ナミ", "ナミ", True),
        ("凪", "凪\u200b", True),
        ("凪", "渚", False),
    ],
)
def test_a_name_means_the_agent_that_a_reader_would_take_it_for(
    one: str, other: str, *, same: bool
) -> None:
    assert same_discussion_participant_name(one, other) is same


def _turn(source_id: str, source: Source = Source.PEER) -> Turn:
    made = turn_id(source=source, principal="opencrab", source_id=f"s/{source_id}", agent_id="kai")
    return Turn(
        id=made,
        agent_id="kai",
        session_id="s",
        trigger=Trigger.EVENT,
        source=source,
        authority=Authority.PEER,
        principal_id="opencrab",
        group="g",
        body_hash="h",
        lease_until=NOW,
        created_at=NOW,
    )


def test_turns_about_an_outcome_are_known_by_their_ids() -> None:
    assert is_discussion_outcome_turn(_turn(OUTCOME_REQUEST))
    assert is_discussion_task_answer_turn(_turn(discussion_task_request_id("kai")))
    assert not is_discussion_task_answer_turn(_turn(discussion_task_request_id("nami")))
    assert not is_discussion_outcome_turn(_turn(OUTCOME_REQUEST, Source.REST))
    assert not is_discussion_outcome_turn(_turn("floor#1#m1"))


def test_open_tasks_of_an_agent_that_is_silent_are_unanswered() -> None:
    tasks = tuple(
        OutcomeTask(number=n, agent_id=name, name=name, what="x", due=NOW, answer=answer)
        for n, (name, answer) in enumerate(
            (("kai", TaskAnswer.OPEN), ("kai", TaskAnswer.DECLINED), ("nami", TaskAnswer.OPEN)), 1
        )
    )
    outcome = DiscussionOutcome(session_id="s", ended_by=Ending.DONE, tasks=tasks, at=NOW)
    assert [task.number for task in outcome.tasks_of("kai")] == [1]
    answers = [task.answer for task in outcome.without_answer({"kai"}).tasks]
    assert answers == [TaskAnswer.UNANSWERED, TaskAnswer.DECLINED, TaskAnswer.OPEN]
