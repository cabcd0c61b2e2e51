"""Words of a report stay true: when its numbers move, when they come late, when one forgets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Unavailable
from opencrab.domain.insight.report_wording import WORDING
from opencrab.domain.value import Language
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest, ModelInfo
from opencrab.ports.workspace.files import Files
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.nights import breaking, lived, told
from tests.e2e.worded import HEAD, HEAD_JA, SAID, turns, worded


def test_words_that_no_longer_fit_the_numbers_of_a_repeated_night_are_not_shown(
    home: House,
) -> None:
    worded(home, Reply(SAID))
    _die_before_done(home)
    home.work()
    earlier = (home.clock.now() - timedelta(days=1)).replace(hour=20)
    lived(home, 5, good=False, at=earlier, name="late")
    review_agent_now(home.runtime, "crab", "daily")
    english = told(home, "2026-01-05")
    assert f"{HEAD}\n\nNo summary: the model's text was dropped: it had" in english
    assert (SAID in english, "17 turns" in english) == (False, True)


def test_an_answer_that_its_limit_cut_off_ends_with_its_last_sentence(home: House) -> None:
    worded(home, Reply(SAID))
    review_agent_now(home.runtime, "crab", "daily")
    _answering(home, text="I did well. Quality is at 1", finish="length")
    home.work()
    assert f"{HEAD}\n\nI did well.\n\nWritten by" in told(home, "2026-01-05")


def test_an_answer_that_was_cut_off_in_its_first_sentence_is_none(home: House) -> None:
    worded(home, Reply(SAID))
    review_agent_now(home.runtime, "crab", "daily")
    _answering(home, text="Quality is at 1", finish="length")
    home.work()
    assert "it was not plain sentences" in told(home, "2026-01-05")


def test_words_that_are_paid_take_the_place_of_the_line_that_there_are_none(home: House) -> None:
    worded(home, Reply(SAID))
    _die_before_done(home)
    home.home.switches.set("crab", frozen=True)
    review_agent_now(home.runtime, "crab", "daily")
    assert "No summary: the agent is frozen." in told(home, "2026-01-05")
    home.home.switches.set("crab", frozen=False)
    home.work()
    assert SAID in told(home, "2026-01-05")
    assert "No summary" not in told(home, "2026-01-05")


def test_words_that_come_while_a_night_writes_its_report_anew_are_shown(home: House) -> None:
    worded(home, Reply(SAID))
    _die_before_done(home)
    reading = _Reading(home)
    files = cast("Files", reading)
    review_agent_now(replace(home.runtime, home=replace(home.home, files=files)), "crab", "daily")
    assert (reading.came, home.provider.bill.received) == (True, 1)
    assert told(home, "2026-01-05").count(SAID) == 1


def test_words_stand_in_the_report_of_the_language_in_which_they_were_asked_for(
    home: House,
) -> None:
    agent = worded(home, Reply(SAID))
    _die_before_done(home)
    japanese = agent.replaced(language=Language.JA)
    _answering(home, meanwhile=lambda: home.home.agents.save(japanese))
    home.work()
    for _ in range(2):
        assert f"{HEAD}\n\n{SAID}\n\nWritten by" in told(home, "2026-01-05")
        assert HEAD_JA not in told(home, "2026-01-05.ja")
        review_agent_now(home.runtime, "crab", "daily")


@pytest.mark.parametrize(
    ("wish", "gone"),
    [
        (ErasureRequest(scope=ErasureScope.EVERYTHING), True),
        (ErasureRequest(scope=ErasureScope.PERIOD, until=datetime(2026, 1, 6, tzinfo=UTC)), True),
        (ErasureRequest(scope=ErasureScope.PERIOD, until=datetime(2026, 1, 2, tzinfo=UTC)), False),
    ],
)
def test_words_are_forgotten_with_what_they_may_tell_of_and_so_is_the_answer_that_had_them(
    home: House,
    wish: ErasureRequest,
    gone: bool,  # noqa: FBT001
) -> None:
    worded(home, Reply("Most helped by moonlit-otter."))
    review_agent_now(home.runtime, "crab", "daily")
    home.work()
    (turn,) = turns(home)
    assert "moonlit-otter" in str(home.home.journal.load(turn.id).records)
    assert erase_data(home.runtime, "crab", wish).done
    assert (home.home.facts.page("crab", WORDING) == ()) is gone
    assert ("moonlit-otter" not in str(home.home.journal.load(turn.id).records)) is gone
    assert home.provider.bill.received == 1


def test_a_report_of_before_a_forgetting_is_worded_no_more(home: House) -> None:
    worded(home, Reply(SAID))
    review_agent_now(home.runtime, "crab", "daily")
    assert erase_data(home.runtime, "crab", ErasureRequest(scope=ErasureScope.EVERYTHING)).done
    home.work()
    assert home.provider.bill.received == 0


def _die_before_done(house: House) -> None:
    """A night that dies when it has wished for words."""
    died = breaking(house, "compactions", "send", Unavailable("gone"), after=1)
    with pytest.raises(Unavailable):
        review_agent_now(died, "crab", "daily")


def _answering(house: House, meanwhile: Callable[[], object] = lambda: None, **answer: Any) -> None:
    """Let models answer like that, when something has happened meanwhile."""
    house.provider.wrap = lambda model: cast("ChatModel", _Answering(model, meanwhile, answer))


@dataclass(frozen=True)
class _Answering:
    """A model that says something else, later."""

    model: ChatModel
    meanwhile: Callable[[], object]
    answer: dict[str, Any]

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        self.meanwhile()
        return self.model.chat(request, body).replaced(**self.answer)


class _Reading:
    """Files of a night that reads one, and meanwhile the words come."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.came = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._house.home.files, name)

    def read(self, *place: str) -> Any:
        if not self.came:
            self.came = True
            self._house.work()
            assert SAID in told(self._house, "2026-01-05")
        return self._house.home.files.read(*place)
