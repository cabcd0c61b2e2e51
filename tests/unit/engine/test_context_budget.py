"""How much a model is shown: its own limits hold, and what is left out is said with a count."""

import re
from dataclasses import replace

import pytest

from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.prompt.request import (
    build_turn_prompt_request,
    prompt_answer_token_limit,
    prompt_input_token_limit,
    prompt_token_limit,
)
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import (
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
    estimated_tokens,
)
from tests.unit.engine.known_world import INFO, QUIET, World

SMALL = ModelInfo(name="openai:small", max_input_tokens=6_000, max_output_tokens=1_000)
LONG = {"ja": "海の話をしましょう。" * 10, "en": "Let us talk about the sea. " * 10}


def request(work: TurnWork, info: ModelInfo = SMALL) -> ChatRequest:
    return build_turn_prompt_request(work, info, CallOptions(), work.look(QUIET))


def texts(made: ChatRequest) -> list[str]:
    return [each.text if isinstance(each, ChatMessage) else each.content for each in made.turns]


def tokens(made: ChatRequest) -> int:
    """Tokens of all that is sent, counted apart from the builder."""
    schemas = "".join(schema.model_dump_json() for schema in made.actions)
    shown = sum(estimated_tokens(text) + 8 for text in texts(made))
    return estimated_tokens(schemas) + estimated_tokens(made.system) + 8 + shown


@pytest.mark.parametrize(("limit", "water"), [(10_000, 5_000), (160_000, 80_000), (10**6, 80_000)])
def test_high_water_is_half_of_what_the_model_takes_up_to_a_setting(limit: int, water: int) -> None:
    assert prompt_token_limit(limit, Rules()) == water


@pytest.mark.parametrize(
    ("total", "output", "most"),
    [(None, 1_000, 6_000), (100_000, 1_000, 6_000), (4_000, 1_000, 3_000), (2_000, 500, 1_500)],
)
def test_a_shared_window_leaves_the_answer_at_most_a_quarter(
    total: int | None, output: int, most: int
) -> None:
    info = replace(SMALL, max_total_tokens=total)
    assert prompt_answer_token_limit(info, Rules()) == output
    assert prompt_input_token_limit(info, output) == most


def test_a_setting_limits_the_answer_as_well() -> None:
    assert prompt_answer_token_limit(SMALL, Rules(max_output_tokens=300)) == 300


@pytest.mark.parametrize("agent", [0, 1], ids=["ja", "en"])
@pytest.mark.parametrize("language", LONG)
@pytest.mark.parametrize("total", [None, 7_000])
def test_a_request_keeps_below_high_water_and_within_the_total(
    agent: int, language: str, total: int | None, world: World
) -> None:
    turns = [world.say(LONG[language])[agent] for _ in range(40)]
    info = replace(SMALL, max_total_tokens=total)
    made = request(world.work(turns[-1]), info)
    most = prompt_input_token_limit(info, made.max_output_tokens)
    note = 40
    assert tokens(made) <= most // 2 + note
    assert tokens(made) + made.max_output_tokens <= (total or 10**9)
    assert len(made.turns) > 3


@pytest.mark.parametrize(
    ("agent", "note"),
    [
        (0, r"\[これより前の(\d+)行は省略されています\]"),
        (1, r"\[(\d+) earlier lines are not shown\]"),
    ],
    ids=["ja", "en"],
)
def test_what_is_left_out_is_said_behind_the_opening_with_a_count(
    agent: int, note: str, world: World
) -> None:
    turns = [world.say(f"{n}番目: {LONG['ja']}")[agent] for n in range(1, 41)]
    opening, first, second, *_ = texts(request(world.work(turns[-1])))
    assert opening.startswith("太郎 (owner): 1番目")
    said = re.fullmatch(note, first)
    assert said is not None
    gone = int(said[1])
    assert 0 < gone < 38
    assert second.startswith(f"太郎 (owner): {gone + 2}番目")


def test_nothing_is_left_out_and_nothing_is_said_when_all_fits(world: World) -> None:
    world.say("一")
    made = request(world.begun("二"))
    assert texts(made)[:2] == ["太郎 (owner): 一", "太郎 (owner): 二"]


def test_the_beginning_stays_the_same_for_several_turns(world: World) -> None:
    world.rules(history_lines=200)
    starts = set()
    for n in range(60):
        turns = world.say(LONG["ja"])
        if n >= 50:
            starts.add(texts(request(world.work(turns[0])))[0])
    assert len(starts) <= 5


@pytest.mark.parametrize("character", ["海", "x"])
def test_the_trigger_is_shown_even_when_it_is_large(character: str, world: World) -> None:
    world.say("前の話")
    large = character * (MESSAGE_BYTES // len(character.encode()))
    made = request(world.begun(large), replace(INFO, max_input_tokens=30_000))
    assert texts(made)[-2] == f"太郎 (owner): {large}"
    assert texts(made)[0].startswith("[これより前の1行")


def test_a_large_trigger_is_counted_once(world: World) -> None:
    world.say("前の話")
    made = request(world.begun("海" * 8_000), INFO)
    assert texts(made)[0] == "太郎 (owner): 前の話"


@pytest.mark.parametrize("session_text", ["こんにちは", "hello"])
def test_a_model_too_small_for_the_fixed_parts_is_refused_with_a_cure(
    session_text: str, world: World
) -> None:
    work = world.begun(session_text)
    with pytest.raises(
        Invalid, match=r"'openai:small' accepts 500 tokens; this turn needs about \d+"
    ) as error:
        request(work, replace(SMALL, max_input_tokens=500))
    assert error.value.cure == "choose a model with a larger input limit, or send less at once"


def test_a_trigger_beyond_the_models_limit_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="accepts 6000 tokens"):
        request(world.begun("海" * 20_000))


@pytest.mark.parametrize("limit", range(3_000, 6_000, 250))
def test_a_call_is_never_shown_without_its_result(limit: int, world: World) -> None:
    for n in range(12):
        turn = world.say(f"{n}番目を読んで")[0]
        data = {"name": "ws_read", "arguments": '{"path": "メモ.md"}', "result": LONG["ja"]}
        kind, audience = LineKind.ACTION, Audience.SELF
        world.spoken(turn, "ws_read completed", kind=kind, audience=audience, data=data)
    made = request(world.begun("まとめて"), replace(SMALL, max_input_tokens=limit))
    calls = [call.id for each in made.turns if isinstance(each, ChatMessage) for call in each.calls]
    assert calls == [each.call_id for each in made.turns if isinstance(each, CallReturn)]
    assert len(calls) < 12
    assert "省略" in "".join(texts(made)[:2])
