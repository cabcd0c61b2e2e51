"""Client transcripts: what is new in them, what came before, and by what they are known."""

from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.conversation.client_transcript import (
    ClientTranscript,
    TranscriptLine,
    TranscriptSpeaker,
)


def transcript(*lines: str, instructions: str = "") -> ClientTranscript:
    """Lines such as `u:hello` and `a:yes`."""
    roles = {"u": TranscriptSpeaker.USER, "a": TranscriptSpeaker.ASSISTANT}
    return ClientTranscript(
        lines=tuple(TranscriptLine(role=roles[each[0]], text=each[2:]) for each in lines),
        instructions=instructions,
    )


def name(made: ClientTranscript | None, principal: str = "p", agent: str = "花") -> str:
    assert made is not None
    return made.request_id(principal, agent)


def test_what_is_new_comes_after_the_last_answer() -> None:
    made = transcript("u:a", "a:b", "u:c", "u:d")
    assert [line.text for line in made.said] == ["c", "d"]
    assert [line.text for line in made.earlier] == ["a", "b"]
    assert transcript("u:a").earlier == ()
    assert transcript("u:a", "a:b").said == ()


def test_the_request_before_is_known_whatever_became_of_its_answer() -> None:
    first = transcript("u:潮は?", instructions="2026-11-29")
    for answer in ("a:満ち", "a:満ちました。", "a:"):
        assert name(transcript("u:潮は?", answer, "u:次").previous) == name(first)
    assert transcript("u:潮は?").previous is None
    assert transcript("a:ようこそ", "u:潮は?").previous is None


def test_principal_agent_user_words_and_pictures_make_the_id() -> None:
    made = transcript("u:a", "a:b", "u:c")
    others = [
        name(made, "q"),
        name(made, agent="ken"),
        name(made.replaced(user="x")),
        name(transcript("u:a", "a:B", "u:c")),
        name(transcript("u:a", "u:b", "u:c")),
        name(transcript("u:ab", "a:", "u:c")),
        name(made.replaced(lines=(made.lines[0].replaced(pictures=("h",)), *made.lines[1:]))),
    ]
    assert len({name(made), *others}) == len(others) + 1
    assert name(transcript("u: a ", "a:b\n", "u:c")) == name(made)


@given(st.lists(st.tuples(st.sampled_from("ua"), st.text(max_size=5)), min_size=1, max_size=8))
def test_said_and_earlier_are_the_whole(lines: list[tuple[str, str]]) -> None:
    made = transcript(*(f"{role}:{text}" for role, text in lines))
    assert made.earlier + made.said == made.lines
    if made.previous is not None:
        assert made.previous.lines == made.lines[: len(made.previous.lines)]
        assert made.previous.said
