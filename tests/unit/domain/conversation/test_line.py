"""Journal lines, instructions, due items and utterances, in their stored form."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.line import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.turn.due_item import DueItem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
both_languages = pytest.mark.parametrize("text", ["こんにちは 🦀", "Hello"])


@both_languages
def test_a_line_comes_back_from_its_stored_form(text: str) -> None:
    line = Line(
        session_id="s1",
        group="m1",
        kind=LineKind.SPEECH,
        speaker_id="owner",
        speaker_name="太郎",
        authority=Authority.OWNER,
        text=text,
        data={"name": "メモ"},
        at=NOW,
    )
    assert Line.model_validate_json(line.model_dump_json()) == line
    assert line.audience is Audience.ALL
    assert (line.group_line, line.sequence, line.from_agent) == (None, 0, False)


def test_a_line_of_an_unknown_kind_is_none() -> None:
    with pytest.raises(ValidationError, match="kind"):
        Line.model_validate({"kind": "rumour"})


@both_languages
def test_an_instruction_comes_back_from_its_stored_form(text: str) -> None:
    instruction = Instruction(
        id="i1",
        session_id="s1",
        text=text,
        by="owner",
        name="太郎",
        authority=Authority.USER,
        line=3,
        at=NOW,
    )
    assert Instruction.model_validate_json(instruction.model_dump_json()) == instruction
    bare = instruction.erased().model_dump_json()
    assert [word for word in (text, "太郎", '"owner"') if word in bare] == []


def test_an_instruction_of_an_earlier_version_is_the_owners() -> None:
    stored = (
        f'{{"id":"i1","session_id":"s1","text":"x","by":"k","line":3,"at":"{NOW.isoformat()}"}}'
    )
    read = Instruction.model_validate_json(stored)
    assert (read.authority, read.name) == (Authority.OWNER, "")


@both_languages
def test_a_due_item_keeps_its_message_whole(text: str) -> None:
    message = Message(
        source=Source.SCHEDULE,
        source_id="1",
        principal_id="mika",
        sender=Sender(id="mika", name="美香"),
        authority=Authority.SELF,
        parts=(TextPart(text=text),),
    )
    item = DueItem(id="d1", at=NOW, session_id="s1", message=message, hops=2)
    assert DueItem.model_validate_json(item.model_dump_json()) == item
