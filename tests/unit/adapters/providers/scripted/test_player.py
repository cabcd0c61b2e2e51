"""The player: it does what its prompt says, in both languages, and knows nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

import opencrab
from opencrab.adapters.providers.scripted.player import (
    BREAKER,
    KEEPER,
    next_step_of_scripted_player,
    plan_of_scripted_player,
    scripted_breakers_among,
)
from opencrab.adapters.providers.scripted.player_prompt import PlayerPrompt
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.value import Language
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest

ROOT = Path(opencrab.__file__).parent
SYSTEM = {
    Language.EN: 'You are "Kai".\n\nName: Kai\nJob: smith\n',
    Language.JA: "あなたは「Kai」です。\n\n名前: Kai\n職種: 職人\n",
}
NOTE = {
    Language.EN: "[Context, not from a user] time 2026-01-05 10:00 UTC / channel heartbeat",
    Language.JA: "[状況の情報] 現在時刻 2026-01-05 10:00 UTC / 経路 heartbeat",
}
LANGUAGES = pytest.mark.parametrize("language", list(Language))


def text_of(module: str, *keys: str) -> Any:
    """Return one of the product's own texts."""
    found = json.loads((ROOT / module).with_suffix(".json").read_text(encoding="utf-8"))
    for key in keys:
        found = found[key]
    return found


def reads(
    trigger: str,
    language: Language,
    *done: tuple[str, dict[str, Any], str],
    before: tuple[str, ...] = (),
    seed: int = 1,
) -> PlayerPrompt:
    """Return what the player reads: what was said before, the trigger, the context, its calls."""
    turns: list[ChatMessage | CallReturn] = [ChatMessage("user", each) for each in before]
    turns.append(ChatMessage("user", f"OpenCrab (opencrab): {trigger}", name="opencrab"))
    for number, (name, arguments, result) in enumerate(done):
        call = ActionCall(id=f"c{number}", name=name, arguments=arguments)
        turns += [ChatMessage("assistant", "", calls=(call,)), CallReturn(call.id, name, result)]
    turns.append(ChatMessage("user", NOTE[language]))
    request = ChatRequest(
        model="m", actions=(), system=SYSTEM[language], turns=tuple(turns), max_output_tokens=9
    )
    return PlayerPrompt.of(seed, request)


def promised(language: Language, path: str = "plans/a.md") -> str:
    texts = text_of("actions/discussion_outcome")
    goal = texts["goal"][language].format(names="Umi", due="2026-01-05 12:00", what=path)
    done = texts["goal_done"][language].format(what=f"file:{path}")
    return f"[G3] Start: {path}\n{goal}{done}"


def acts(prompt: PlayerPrompt, *breakers: str) -> tuple[str, dict[str, Any]]:
    """Return the call that the player makes."""
    answer = next_step_of_scripted_player(prompt, frozenset(breakers))
    assert not isinstance(answer, str)
    return answer


@LANGUAGES
def test_a_keeper_writes_the_file_that_it_promised_and_reports_it(language: Language) -> None:
    told = promised(language)
    name, arguments = acts(reads(told, language))
    assert (name, arguments["path"]) == ("ws_write", "plans/a.md")
    then = acts(reads(told, language, ("ws_write", arguments, "{}")))
    assert then[0] == "report"


@LANGUAGES
@pytest.mark.parametrize(("breakers", "share"), [((), KEEPER), (("Kai",), BREAKER)])
def test_promises_are_kept_by_seed(
    language: Language, breakers: tuple[str, ...], share: float
) -> None:
    told = [reads(promised(language, f"plans/{n}.md"), language) for n in range(400)]
    answers = [acts(each, *breakers) for each in told]
    kept = sum(answer[0] == "ws_write" for answer in answers)
    assert kept / len(answers) == pytest.approx(share, abs=0.07)
    assert {answer[0] for answer in answers} == {"ws_write", "report", "send_noreact"}
    assert [acts(each, *breakers) for each in told] == answers


def test_one_of_four_breaks_promises_so_that_four_of_five_are_kept() -> None:
    names = ("Kai", "Umi", "Nami", "Tsuki", "Sora", "Iwa", "Suna", "Kaze")
    chosen = [scripted_breakers_among(seed, names) for seed in range(9)]
    assert {len(each) for each in chosen} == {2}
    assert len(set(chosen)) > 1
    assert pytest.approx(0.8) == (6 * KEEPER + 2 * BREAKER) / 8


@LANGUAGES
def test_it_asks_the_agent_that_its_goal_names(language: Language) -> None:
    texts = text_of("engine/goals/generation_text")
    words = texts["words"]["unmet"][language].format(what="Umi")
    trigger = f"[G3] Start: {texts['names']['unmet'][language].format(what='Umi')}\n{words}"
    first = acts(reads(trigger, language))
    assert first == ("use_action", {"name": "list_peers", "arguments": {}})
    peers = {"peers": [{"name": "Nami", "id": "a1"}, {"name": "Umi", "id": "a2"}]}
    listed = ("use_action", first[1], json.dumps(peers))
    name, arguments = acts(reads(trigger, language, listed))
    assert (name, arguments["name"]) == ("use_action", "talk_to_peer")
    assert arguments["arguments"]["peer"] == "a2"


@LANGUAGES
def test_it_offers_a_file_once_in_a_discussion_and_then_declares_to_be_done(
    language: Language,
) -> None:
    trigger = text_of("engine/discussion/after_turn", "told", "asked", language)
    offer = next_step_of_scripted_player(reads(trigger, language), frozenset())
    assert isinstance(offer, str)
    assert "plans/0105-10-" in offer
    said = reads(trigger, language)
    again = PlayerPrompt(**{**vars(said), "told": (("", offer),)})
    assert acts(again) == ("declare_done", {})


@LANGUAGES
def test_the_outcome_gives_each_the_file_that_it_offered(language: Language) -> None:
    trigger = text_of("engine/discussion/outcome", "write", language)
    before = ("Umi (a2): I will write plans/u.md.", "Nami (a3): plans/n.md を書きます。")
    name, arguments = acts(reads(trigger, language, before=before))
    assert (name, arguments["name"]) == ("use_action", "write_outcome")
    tasks = arguments["arguments"]["tasks"]
    assert {task["who"]: task["done_when"] for task in tasks} == {
        "a2": "file:plans/u.md",
        "a3": "file:plans/n.md",
    }
    assert {task["due"] for task in tasks} == {"2026-01-05T12:00:00+00:00"}


@LANGUAGES
def test_it_takes_over_every_task_that_it_is_asked_about(language: Language) -> None:
    trigger = text_of("engine/discussion/outcome", "ask", language)
    trigger = trigger.replace("{tasks}", "2. a\n4. b")
    first = acts(reads(trigger, language))
    assert first[1]["arguments"] == {"task": 2, "takes_over": True}
    second = acts(reads(trigger, language, ("use_action", first[1], "{}")))
    assert second[1]["arguments"] == {"task": 4, "takes_over": True}
    done = [("use_action", each[1], "{}") for each in (first, second)]
    assert acts(reads(trigger, language, *done))[0] == "send_noreact"


@LANGUAGES
def test_another_agents_question_is_answered_with_words(language: Language) -> None:
    head = {Language.EN: "[Purpose: tide]", Language.JA: "[用件: 潮]"}[language]
    assert isinstance(
        next_step_of_scripted_player(reads(f"{head}\n満潮は?", language), frozenset()), str
    )


@LANGUAGES
def test_only_some_opportunities_are_seized(language: Language) -> None:
    name = text_of("engine/goals/generation_text", "names", "opportunity", language)
    told = [reads(f"[G{n}] Start: {name.format(what=n)}", language) for n in range(1, 41)]
    found = {acts(each)[0] for each in told}
    assert {"ws_write", "send_noreact"} <= found


@pytest.mark.parametrize(
    ("text", "goals"),
    [
        (
            "Mend a tool. Daily at 10 meet the others. When all is done, rest in silence.",
            [("file:work/1-*.md", ""), ("", "0 10 * * *")],
        ),
        (
            "道具を直します。毎日10時に、ほかの人と会います。することがなければ、黙って休みます。",
            [("file:work/1-*.md", ""), ("", "0 10 * * *")],
        ),
        ("Once say who you are.", [("file:work/1-*.md", "once")]),
    ],
)
def test_instructions_without_a_time_end_with_a_file_and_rest_is_no_goal(
    text: str, goals: list[tuple[str, str]]
) -> None:
    plan = json.loads(plan_of_scripted_player(text))
    assert [(goal["done_when"], goal["when"]) for goal in plan["goals"]] == goals
