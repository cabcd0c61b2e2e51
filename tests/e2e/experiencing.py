"""What an agent has lived through: kept, shown by searches, and looked at by a night."""

from pathlib import Path
from typing import Any

from opencrab.domain.document import new_fact
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.memory.memory import EXPERIENCE, LIVED, Experience
from opencrab.domain.memory.search_row import EVERYTHING, RowKind
from opencrab.domain.outcome import Outcome
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.turn.record import CallResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.memory.search import SearchQuery
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.forgotten import Life
from tests.e2e.house import House
from tests.e2e.nights import lived as turns
from tests.saved_evidence import saved_evidence

DAY = 86_400.0
WORDS: dict[str, tuple[str, str, str]] = {
    "ja": ("港で灯台の鍵を失くした", "鍵束は門番に預ける", "灯台の鍵はどこ?"),
    "en": ("I lost the lighthouse key", "Leave keys with the porter", "Where is the key?"),
}
TWICE = (
    ("港で旅人に道を聞かれた", "地図を広げて順路を教える"),
    ("港で旅人に道を聞かれた。", "地図を広げて順路を説明する"),
)
TWICE_EN = (
    ("A traveller asked for the way at the harbour", "Unfold the map and show the shortest route"),
    ("A traveller asked me for the way at the harbour", "Unfold the map, show the shortest route"),
)


def night(house: House) -> tuple[Adjustment, ...]:
    """What the next night did or proposed about experiences."""
    house.clock.advance(DAY)
    looked = review_agent_now(house.runtime, "crab", "daily")
    made = (each for each in looked.adjustments if each.by == looked.period)
    return tuple(each for each in made if each.kind == EXPERIENCE)


def experience(house: House, name: str) -> Experience:
    """An experience as it is stored."""
    fact = house.home.facts.get("crab", EXPERIENCE, name)
    assert fact is not None
    return fact.read(Experience)


def found(house: House, words: str) -> list[str]:
    """The experiences that a search finds."""
    query = SearchQuery(words, clearance=EVERYTHING, kinds=frozenset({RowKind.EXPERIENCE}))
    return [each.row.ref for each in house.runtime.search.search("crab", query)]


def keeps(house: House, happened: str, lesson: str, **changes: Any) -> str:
    """Something that the agent has lived through; answers its id."""
    house.clock.advance(1)
    now = house.clock.now()
    lived = Experience(
        id=house.clock.new_id(), experience=happened, outcome=Outcome.SUCCESS, lesson=lesson, at=now
    ).replaced(**changes)
    house.home.facts.commit(new_fact("crab", EXPERIENCE, lived.id, lived))
    return lived.id


def shown(house: House, *names: str, times: int = 3, useful: tuple[str, ...] = ()) -> None:
    """Turns whose searches showed experiences."""
    ids = tuple(f"{LIVED}{name}" for name in names)
    used = tuple(f"{LIVED}{name}" for name in useful)
    house.clock.advance(1)
    turns(house, times, good=None, found=ids, useful=used, name=f"shown{house.clock.now():%H%M%S}")


def says(house: House, text: str, *script: Reply) -> Turn:
    """The owner says something: others find no experiences."""
    house.clock.advance(60)
    house.scripts["crab"] = script
    said = message(text, f"{house.clock.now():%d%H%M%S}")
    (turn,) = admit_turns_of_message(house.runtime, "direct", said)
    house.work()
    return turn


def learns(house: House, folder: Path, language: str) -> str:
    """An agent keeps an experience in a turn of its own; answers its id."""
    Life(house, folder)
    crab = house.home.agents.get("crab").agent
    house.home.agents.save(crab.replaced(language=Language(language)))
    happened, lesson, _ = WORDS[language]
    learning = {"experience": happened, "outcome": "success", "lesson": lesson}
    says(house, "!", Reply(calls=(("learn_from_experience", learning),)), Reply("…"))
    (fact,) = house.home.facts.page("crab", EXPERIENCE)
    return fact.id


def asks(house: House, asked: str, answer: str = "…") -> list[str]:
    """The experiences that a turn of the agent finds when it is asked."""
    looks = Reply(calls=(("search_my_history", {"query": asked, "kind": "experience"}),))
    turn = says(house, asked, looks, Reply(answer))
    records = house.home.journal.load(turn.id).records
    results = [each.result.data or {} for each in records if isinstance(each, CallResult)]
    return [row["id"].removeprefix(LIVED) for each in results for row in each.get("results", ())]


def changes(house: House) -> list[Adjustment]:
    """All changes, the newest first."""
    return list(learned.page_of_adjustments(house.home.facts, "crab"))


def useless(house: House, **changes: Any) -> tuple[str, Adjustment]:
    """An experience that was never of use, and what the night proposes."""
    name = keeps(house, *WORDS["en"][:2], **changes)
    shown(house, name)
    (made,) = night(house)
    return name, made


def qualities(house: House) -> list[MomentSums]:
    """What the turns of each model were worth."""
    return [each.quality for each in saved_evidence(house.home.facts, "crab").models.values()]
