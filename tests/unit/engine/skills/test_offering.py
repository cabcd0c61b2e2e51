"""Skills in a turn: told in short, loaded where they fit, never for small talk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.skill_files import FileSkills
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.skills.lifecycle import (
    SkillTeaching,
    promote_learned_skill,
    skill_lesson,
    teach_learned_skill,
)
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, IndexedSkill, SkillStatus, SourceType
from opencrab.domain.value import Language
from opencrab.engine.skills.offering import (
    INDEX_BYTES,
    TEXT_BYTES,
    OfferedSkill,
    agent_skills_index,
    count_skill_use,
    skill_text,
    skills_fitting_message,
    skills_of_agent,
)
from opencrab.ports.documents import Documents
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.unit.actions.bench import NOW

SHIPPED = FileSkills(ROOT / "skills")
EVERYTHING = AgentState(enabled=("autonomous", "knowledge-vault"))
OWN = SkillTeaching(source_type=SourceType.REFLECTION, taught_by="owner", vouched=True)


def counting(mind: AgentState) -> tuple[OfferedSkill, ...]:
    """The skills that count for an agent with this mind."""
    return skills_of_agent(SHIPPED.all(), mind)


def skill(name: str = "good-questions", guidance: str = "「なぜ」と尋ねる。") -> AcquiredSkill:
    """Something that was learned."""
    return teach_learned_skill(
        None, skill_lesson(name, "説明を深める", guidance=guidance), OWN, NOW
    )


def mind(description: str, pattern: str = "") -> AgentState:
    """A mind without standard skills that knows one acquired skill."""
    learned_skill = IndexedSkill(name="own", description=description, situation_pattern=pattern)
    return AgentState(skills=(learned_skill,), disabled=tuple(each.name for each in SHIPPED.all()))


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[Documents]:
    """An empty store."""
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        yield home.facts


@pytest.mark.parametrize("language", Language)
def test_the_index_of_all_shipped_skills_is_short(language: Language) -> None:
    text = agent_skills_index(counting(EVERYTHING), language).text
    assert len(text.encode()) <= 1_536
    assert len(text.splitlines()) == 7
    assert len(agent_skills_index(counting(AgentState()), language).text.encode()) <= 600
    assert "autonomous" not in agent_skills_index(counting(AgentState()), language).text


def test_who_has_no_skills_is_told_of_none() -> None:
    nothing = AgentState(disabled=tuple(each.name for each in SHIPPED.all()))
    assert agent_skills_index(counting(nothing), Language.JA).text == ""
    assert agent_skills_index(counting(nothing), Language.EN).names == ()


def test_a_skill_that_was_switched_off_is_neither_offered_nor_loaded() -> None:
    off = AgentState(disabled=("workspace-management",))
    assert "workspace-management" not in agent_skills_index(counting(off), Language.EN).names
    assert skills_fitting_message(counting(off), "このファイルを保存して") == ()
    assert skills_fitting_message(counting(AgentState()), "このファイルを保存して") == (
        "workspace-management",
    )


def test_a_skill_that_was_shipped_since_takes_the_place_of_a_learned_one(facts: Documents) -> None:
    learned_first = skill("task-execution", "Never plan.")
    facts.commit(new_fact("mika", SKILL, "task-execution", learned_first))
    known = index_learned_skill(AgentState(), learned_first)
    assert agent_skills_index(counting(known), Language.EN).names.count("task-execution") == 1
    text = skill_text("task-execution", SHIPPED, facts, "mika", Language.EN)
    assert text != "Never plan."


@pytest.mark.parametrize("language", Language)
def test_the_index_is_capped_and_says_how_many_are_missing(language: Language) -> None:
    full = EVERYTHING
    for number in range(50):
        settled = promote_learned_skill(skill(f"s-{number:02}"), NOW)
        full = index_learned_skill(full, settled.replaced(description="あ" * 300))
    text = agent_skills_index(counting(full), language).text
    told = len(text.splitlines()) - 2
    assert len(text.encode()) <= INDEX_BYTES
    assert str(56 - told) in text.splitlines()[-1]
    assert len(agent_skills_index(counting(full), Language.EN).names) == 56


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("機械学習のノートを整理して学習マップを作って", ["knowledge-vault", "task-execution"]),
        ("Organise the notes on machine learning and make a study map",
         ["knowledge-vault", "task-execution"]),
        ("今日のノートをまとめて、明日のタスクを出して", ["knowledge-vault"]),
        ("summarise today's notes and extract tomorrow's tasks", ["knowledge-vault"]),
        ("メモをファイルに保存して", ["workspace-management"]),
        ("Which files are in the FOLDER?", ["workspace-management"]),
        ("please use a cheaper model for this", ["llm-selection"]),
        ("どのモデルで考えていますか", ["llm-selection"]),
        ("私の名前を覚えておいて", ["self-learning"]),
        ("let us have a brainstorm", ["autonomous"]),
    ],
)  # fmt: skip
def test_a_skill_is_loaded_where_it_fits(message: str, names: list[str]) -> None:
    assert list(skills_fitting_message(counting(EVERYTHING), message)) == names


@pytest.mark.parametrize(
    "message",
    [
        "",
        "hello, how are you?",
        "こんにちは、元気ですか?",
        "ありがとう!",
        "今日はいい天気ですね。散歩に行きましたか",
        "what do you think about the weather today?",
        "That is good to know, thanks a lot",
        "昨日の映画、とても面白かったです",
        "🦀🦀🦀",
        "コンテクストを介してオブジェクトを更新する",
        "イギリスのボクスホールを傘下に収めた年は?",
        "It was such a fun project and I'm happy with how it turned out.",
        "Keep a.md up to date with what you learn about crabs, and greet newcomers.",
    ],
)
def test_small_talk_loads_nothing(message: str) -> None:
    assert skills_fitting_message(counting(EVERYTHING), message) == ()


@pytest.mark.parametrize(
    ("description", "pattern", "message"),
    [
        ("x", "請求書|invoice", "この請求書を見て"),
        ("x", "請求書|invoice", "Look at these INVOICES"),
        ("x", "technical question", "I have a question, a technical one"),
        ("技術的な概念を説明する", "", "技術の概念をわかりやすく説明して"),
        ("Explain technical concepts by examples", "", "explain this concept with an example"),
    ],
)
def test_an_acquired_skill_fits_by_its_situation_or_its_words(
    description: str, pattern: str, message: str
) -> None:
    assert skills_fitting_message(counting(mind(description, pattern)), message) == ("own",)
    assert skills_fitting_message(counting(mind(description, pattern)), "こんにちは hello") == ()


@pytest.mark.parametrize("pattern", ["", "|", "a|e|の", " | |", "it is|you are"])
def test_a_situation_that_says_nothing_fits_nothing(pattern: str) -> None:
    assert (
        skills_fitting_message(counting(mind("x", pattern)), "it is the one that you are, の話")
        == ()
    )


def test_only_the_best_are_loaded_in_the_same_order_every_time() -> None:
    message = "ノートをファイルに保存して、教訓を覚えて、計画を立てて"
    found = skills_fitting_message(counting(EVERYTHING), message, limit=3)
    assert len(found) == 3
    assert skills_fitting_message(counting(EVERYTHING), message) == found[:2]
    assert skills_fitting_message(counting(EVERYTHING), message, limit=0) == ()


def test_of_skills_that_fit_alike_one_that_proved_itself_comes_before_one_on_trial() -> None:
    both = [
        IndexedSkill(name=name, description="x", situation_pattern="泣いて|crying", on_trial=new)
        for name, new in (("another", True), ("better", False))
    ]
    for message in ("友だちが泣いている", "my friend is crying"):
        assert skills_fitting_message(counting(AgentState(skills=tuple(both))), message) == (
            "better",
            "another",
        )
        assert skills_fitting_message(
            counting(AgentState(skills=tuple(both))), message, limit=1
        ) == ("better",)


def test_a_long_message_is_read_from_its_beginning() -> None:
    assert skills_fitting_message(counting(AgentState()), "あ" * 1_000_000 + "ファイル") == ()


@pytest.mark.parametrize("language", Language)
def test_the_text_of_a_standard_skill_comes_in_the_agents_language(
    facts: Documents, language: Language
) -> None:
    text = skill_text("task-execution", SHIPPED, facts, "mika", language)
    shipped = SHIPPED.find("task-execution")
    assert shipped is not None
    assert text == shipped.guidance[language]


def test_only_live_skills_have_a_text(facts: Documents) -> None:
    first = new_fact("mika", SKILL, "good-questions", skill())
    facts.commit(first)
    assert skill_text("good-questions", SHIPPED, facts, "ada", Language.JA) is None
    for status in SkillStatus:
        stored = facts.get("mika", SKILL, "good-questions")
        assert stored is not None
        facts.commit(stored.with_body(skill().replaced(status=status)))
        text = skill_text("good-questions", SHIPPED, facts, "mika", Language.JA)
        live = status in {SkillStatus.CANDIDATE, SkillStatus.ACTIVE}
        assert text == ("「なぜ」と尋ねる。" if live else None)


@pytest.mark.parametrize("language", Language)
def test_a_skill_on_trial_is_told_of_nowhere_and_comes_where_it_fits(language: Language) -> None:
    fitting_one = skill().replaced(situation_pattern="請求書")
    trying = index_learned_skill(AgentState(), fitting_one)
    assert (
        agent_skills_index(counting(trying), language).text
        == agent_skills_index(counting(AgentState()), language).text
    )
    assert (
        agent_skills_index(counting(trying), Language.EN).names
        == agent_skills_index(counting(AgentState()), Language.EN).names
    )
    assert skills_fitting_message(counting(trying), "この請求書を見て") == ("good-questions",)
    settled = index_learned_skill(trying, promote_learned_skill(fitting_one, NOW))
    assert "good-questions" in agent_skills_index(counting(settled), language).text
    assert agent_skills_index(counting(settled), Language.EN).names[-1] == "good-questions"
    shipped_since = index_learned_skill(AgentState(), skill("task-execution"))
    assert (
        agent_skills_index(counting(shipped_since), Language.EN).names
        == agent_skills_index(counting(AgentState()), Language.EN).names
    )


def test_a_long_text_is_cut_and_says_so(facts: Documents) -> None:
    facts.commit(new_fact("mika", SKILL, "long", skill("long", "あ" * 2_500)))
    text = skill_text("long", SHIPPED, facts, "mika", Language.JA)
    assert text is not None
    assert TEXT_BYTES - 3 <= len(text.encode()) <= TEXT_BYTES
    assert text.endswith("use_skill で読めます)")


def test_use_is_counted_once_a_turn(facts: Documents) -> None:
    facts.commit(new_fact("mika", SKILL, "good-questions", skill()))
    for _ in range(2):
        count_skill_use(facts, "mika", ["good-questions", "task-execution", "good-questions"], NOW)
    stored = facts.get("mika", SKILL, "good-questions")
    assert stored is not None
    counted = stored.read(AcquiredSkill)
    assert (counted.usage_count, counted.last_used_at, counted.version) == (2, NOW, 1)


class Contested:
    """A store in which somebody else is faster, so many times."""

    def __init__(self, facts: Documents, times: int) -> None:
        self.get, self.page = facts.get, facts.page
        self.get_many, self.list_due = facts.get_many, facts.list_due
        self.commit_soon = facts.commit_soon
        self._facts, self.times = facts, times

    def commit(self, *facts: Document, due: tuple[object, ...] = ()) -> None:
        assert due == ()
        if self.times:
            self.times -= 1
            raise Changed("meanwhile")
        self._facts.commit(*facts)


@pytest.mark.parametrize(("times", "count"), [(2, 1), (99, 0)])
def test_counting_gives_way_to_others_and_at_last_gives_up(
    facts: Documents, times: int, count: int
) -> None:
    facts.commit(new_fact("mika", SKILL, "good-questions", skill()))
    count_skill_use(Contested(facts, times), "mika", ["good-questions"], NOW)
    stored = facts.get("mika", SKILL, "good-questions")
    assert stored is not None
    assert stored.read(AcquiredSkill).usage_count == count
