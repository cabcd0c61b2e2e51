"""What kind of thought a call needs, in English and Japanese alike."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.routing import Use
from opencrab.domain.turn.task_type import (
    COMPLEX,
    TaskType,
    ThinkContext,
    complexity_level_of_turn,
    turn_think_context,
)
from opencrab.domain.turn.turn import Trigger
from tests.docs.site import DOCS

HARD = (
    "Design the architecture of a distributed stock system: transactions across regions, "
    "consistency under failure modes, security and migration from the old one.",
    "分散した在庫システムのアーキテクチャを設計してください。トランザクションの整合性、"
    "障害時の動作、セキュリティ、旧システムからの移行も考えてください。",
)
PAGES = [DOCS / "explanation" / name for name in ("models.md", "models.ja.md")]
PLAIN = ("Good morning!", "おはようございます", "How was your day?", "今日はどうでしたか")


@pytest.mark.parametrize("text", HARD)
def test_complex_design_is_for_the_first_tier(text: str) -> None:
    context = turn_think_context(text, Trigger.MESSAGE)
    assert context.task_type is TaskType.DESIGN
    assert (context.tier, context.use) == (1, Use.THINKING)


@pytest.mark.parametrize("text", PLAIN)
def test_a_chat_is_for_the_usual_model(text: str) -> None:
    context = turn_think_context(text, Trigger.MESSAGE)
    assert context == ThinkContext(task_type=TaskType.CONVERSATION, complexity=context.complexity)
    assert (context.tier, context.use) == (2, Use.CONVERSATION)


@pytest.mark.parametrize(
    "text",
    ["Is the light on? Answer yes or no.", "電気はついていますか。はいかいいえで答えて"],
)
def test_a_plain_choice_is_for_the_quickest_model(text: str) -> None:
    context = turn_think_context(text, Trigger.MESSAGE)
    assert (context.task_type, context.tier, context.use) == (TaskType.DECISION, 3, Use.ANALYSIS)


@pytest.mark.parametrize("trigger", [Trigger.HEARTBEAT, Trigger.EVENT])
def test_what_comes_by_itself_is_routine(trigger: Trigger) -> None:
    context = turn_think_context(HARD[0], trigger)
    assert (context.task_type, context.tier) == (TaskType.ROUTINE, 3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("please refactor this function", TaskType.CODE),
        ("この関数をリファクタリングして", TaskType.CODE),
        ("write a haiku about crabs", TaskType.CREATIVE),
        ("カニの俳句を書いて", TaskType.CREATIVE),
        ("summarize the minutes", TaskType.ANALYSIS),
        ("議事録を要約して", TaskType.ANALYSIS),
    ],
)
def test_the_kind_of_a_task_is_told_by_its_words(text: str, kind: TaskType) -> None:
    assert turn_think_context(text, Trigger.MESSAGE).task_type is kind


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("俳句を詠んで", Use.CREATIVE),
        ("a haiku about a dilemma", Use.CREATIVE),
        ("議事録を要約して", Use.ANALYSIS),
        ("prove that there are infinitely many primes", Use.THINKING),
        ("来週の引っ越しの計画を立てて", Use.THINKING),
        ("The plan is to eat pizza.", Use.CONVERSATION),
        ("卒業証明書をなくした", Use.CONVERSATION),
    ],
)
@pytest.mark.parametrize("acting", [False, True])
def test_a_kind_of_task_has_one_use_before_and_after_actions(
    text: str,
    use: Use,
    acting: bool,  # noqa: FBT001
) -> None:
    assert turn_think_context(text, Trigger.MESSAGE, acting=acting).use is use


SMALL_TALK = (
    "I need a plan B in case it rains lol",
    "I need a phone plan",
    "give me the floor plan",
    "I'm torn between pizza and sushi",
    "I can't decide what to eat",
    "Should I bring an umbrella or not?",
    "The kids can't choose a movie",
    "He can't decide anything",
    "I have proof of purchase",
    "Where can I get proof of vaccination?",
    "お昼ご飯、何にしようか迷っています",
    "どっちの服にするか迷ってる",
    "道に迷っています",
    "最近、腰痛に悩んでいます",
    "先生に相談して悩んでいたことが解決した",
    "コーヒーがいいか、それとも紅茶がいい?",
    "よく考えてみたら昨日だった",
    "プレゼント、よく考えてくれてありがとう",
    "旅行のプランを考えてくれてありがとう!",
    "在職証明を書いてもらった",
)
DILEMMAS = (
    "Should I take the job in Osaka or stay with my team?",
    "I honestly can't decide whether to sell the house",
    "転職するかどうか悩んでいます",
    "家を買うか借りるか迷っています。",
    "服薬をやめるか迷っています",
    "料理人に転職すべきか、今の会社に残るべきか、ずっと悩んでいます。給料は下がるけれど、やりがいは"
    "ありそうです。家族はどちらでもいいと言っていますが、食べていけるか心配です。返事は来週の金曜日までです。",
)


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_never_asks_the_dearest_model(text: str) -> None:
    assert turn_think_context(text, Trigger.MESSAGE).use is Use.CONVERSATION


@pytest.mark.parametrize("text", DILEMMAS)
def test_a_choice_of_weight_asks_the_best_model(text: str) -> None:
    assert turn_think_context(text, Trigger.MESSAGE).use is Use.THINKING


def test_simple_code_is_not_for_the_dearest_model() -> None:
    assert turn_think_context("implement fizzbuzz in python", Trigger.MESSAGE).tier == 2


@given(st.text(max_size=300), st.sampled_from(Trigger), st.booleans())
def test_any_text_has_a_tier_and_a_use(text: str, trigger: Trigger, acting: bool) -> None:  # noqa: FBT001
    context = turn_think_context(text, trigger, acting=acting)
    assert context.tier in {1, 2, 3}
    assert context.use is not Use.EMBEDDING
    assert context == turn_think_context(text, trigger, acting=acting)


@given(st.floats(0, 1))
def test_a_level_is_one_of_three_words(complexity: float) -> None:
    assert complexity_level_of_turn(complexity) in {"simple", "medium", "complex"}
    assert (complexity_level_of_turn(complexity) == "complex") == (complexity > COMPLEX)


def test_a_very_long_text_costs_no_more_than_its_beginning() -> None:
    beginning = "設計 " * 2_000
    first = turn_think_context(beginning[:8_000], Trigger.MESSAGE)
    assert turn_think_context(beginning + "x" * 10**6, Trigger.MESSAGE) == first


def tiers_of(name: str) -> dict[int, list[int]]:
    """How many of the labelled messages of each tier go to the first, second and third."""
    path = Path(__file__).with_name(name)
    labelled = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {}
    for tier in (1, 2, 3):
        texts = [text for language in labelled.values() for text in language[f"{tier}"]]
        came = [turn_think_context(text, Trigger.MESSAGE).tier for text in texts]
        found[tier] = [came.count(each) for each in (1, 2, 3)]
    return found


def test_the_page_on_models_says_which_use_messages_get_that_the_rule_was_not_written_for() -> None:
    uses = (Use.THINKING, Use.ANALYSIS, Use.CREATIVE, Use.CONVERSATION)
    labelled = tomllib.loads(Path(__file__).with_name("unseen_uses.toml").read_text("utf-8"))
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    for meant in uses:
        texts = [text for language in labelled.values() for text in language[meant.value]]
        came = [turn_think_context(text, Trigger.MESSAGE).use for text in texts]
        row = " | ".join(f"{came.count(use)}" for use in uses)
        assert all(f"| `{meant.value}` | {row} |" in told for told in pages), (meant, row)


def test_the_messages_for_which_the_rule_was_written_go_to_their_tiers() -> None:
    assert tiers_of("think_tiers.toml") == {1: [20, 0, 0], 2: [0, 41, 0], 3: [0, 0, 12]}


def test_the_page_on_models_says_where_messages_go_that_the_rule_was_not_written_for() -> None:
    unseen = tiers_of("unseen_tiers.toml")
    assert unseen[2] == [0, 28, 0], "none is dearer than it needs to be"
    for page in PAGES:
        told = page.read_text(encoding="utf-8")
        for tier, counts in unseen.items():
            assert f"| {tier} | {' | '.join(map(str, counts))} |" in told, (page.name, unseen)
