"""Whether a model follows a number of a personality: two answers, and a judge who sees no names."""

import re
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.agents.trait_comparison import QUESTIONS, TraitName
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.value import Language
from opencrab.engine.installation.trait_comparison import trait_questions_for_installation
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatMessage, ChatRequest
from tests.integration.rest.house import House, problem

SOUL = {"persona_name": "蟹江", "personality": {"openness": 0.9}}


class Playing(Scripted):
    """A model that answers by its openness, and judges: `verdict` says how."""

    def __init__(self, verdict: str) -> None:
        super().__init__(price=Price(input_per_million=1_000_000, output_per_million=2_000_000))
        self.verdict = verdict
        self.asked: list[tuple[str, str]] = []

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        (turn,) = request.turns
        assert isinstance(turn, ChatMessage)
        self.asked.append((str(request.system), turn.text))
        answer = super().chat(request, body, watch)
        return answer.replaced(text=self._says(str(request.system), turn.text))

    def _says(self, system: str, text: str) -> str:
        if found := re.search(r"(?:openness|開放性) (0\.\d)", system):
            return "wild" if float(found[1]) > 0.5 else "tame"
        wild_first = text.index("wild") < text.index("tame")
        honest, contrary = ("A", "B") if wild_first else ("B", "A")
        return {"honest": honest, "contrary": f"{contrary}.", "biased": "A"}.get(
            self.verdict, self.verdict
        )


def pair(house: House, agent_id: str, **body: Any) -> dict[str, Any]:
    place = f"/agents/{agent_id}/soul/trait-pair"
    answer = house.call("POST", place, {"name": "openness", **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    ("verdict", "share"),
    [
        ("honest", 1.0),
        ("contrary", 0.0),
        ("biased", 0.5),
        ("", 0.5),
        ("A or B", 0.5),
        ("回答Ａ", 0.5),
    ],
)
def test_a_pair_counts_what_a_blind_judge_says_twice(
    house: House, language: str, verdict: str, share: float
) -> None:
    agent_id = house.agent(language=language)
    house.call("PUT", f"/agents/{agent_id}/soul", SOUL)
    model = house.thinking.model = Playing(verdict)
    found = pair(house, agent_id, question=1)
    assert (found["high_answer"], found["low_answer"], found["share"]) == ("wild", "tame", share)
    answers, verdicts = model.asked[:2], model.asked[2:]
    assert (
        found["question"]
        == trait_questions_for_installation(TraitName.OPENNESS, Language(language))[1]
    )
    assert [text for _, text in answers] == [found["question"]] * 2
    assert all("蟹江" in system for system, _ in answers)
    for system, text in verdicts:
        assert "蟹江" not in system + text
        assert "0.9" not in system + text
        assert found["question"] in text
    first, second = (text.index("wild") < text.index("tame") for _, text in verdicts)
    assert (first, second) == (True, False)
    rows = house.runtime.home.usage.rows(agent_id, limit=10)
    assert len(rows) == 4
    assert sum(row.cost for row in rows) == found["cost_micro_usd"] > 0
    assert house.got("/sessions")["items"] == []
    assert house.got(f"/agents/{agent_id}")["soul"]["personality"]["openness"] == 0.9


def test_a_repeat_asks_nothing_and_returns_no_texts(house: House) -> None:
    agent_id = house.agent()
    house.call("PUT", f"/agents/{agent_id}/soul", SOUL)
    model = house.thinking.model = Playing("honest")
    place, once = f"/agents/{agent_id}/soul/trait-pair", {"Idempotency-Key": "p1"}
    first, second = (
        house.call("POST", place, {"name": "openness"}, headers=once).json() for _ in range(2)
    )
    assert len(model.asked) == 4
    assert second == {**first, "high_answer": "", "low_answer": ""}


def test_a_model_that_fails_ends_the_pair_and_is_paid_for_what_it_did(house: House) -> None:
    agent_id = house.agent()
    house.call("PUT", f"/agents/{agent_id}/soul", SOUL)

    class Failing(Playing):
        def _says(self, system: str, text: str) -> str:
            if len(self.asked) == 3:
                raise ModelCallFailed("gone", Fault.BAD_REQUEST)
            return super()._says(system, text)

    model = house.thinking.model = Failing("honest")
    answer = house.call("POST", f"/agents/{agent_id}/soul/trait-pair", {"name": "openness"})
    assert answer.status_code >= 400
    assert len(model.asked) == 3
    assert len(house.runtime.home.usage.rows(agent_id, limit=10)) == 3


def test_nobody_is_asked_for_what_cannot_be_compared(house: House) -> None:
    model = house.thinking.model = Playing("honest")
    neutral, frozen, retired, spent = (
        house.agent("n"),
        house.agent("a"),
        house.agent("b"),
        house.agent("c", day_limit_micro_usd=0),
    )
    for agent_id in (frozen, retired, spent):
        house.call("PUT", f"/agents/{agent_id}/soul", SOUL)
    state = {"state": "frozen", "agent_id": frozen}
    assert house.call("PUT", "/system/state", state).status_code == 200
    house.call("DELETE", f"/agents/{retired}")
    for agent_id, status in ((neutral, 422), (frozen, 403), (retired, 409), (spent, 429)):
        place = f"/agents/{agent_id}/soul/trait-pair"
        problem(house.call("POST", place, {"name": "openness"}), status)
    place = f"/agents/{spent}/soul/trait-pair"
    for body in ({"name": "luck"}, {"name": "openness", "question": QUESTIONS}, {}):
        problem(house.call("POST", place, body), 422)
    assert model.asked == []


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("name", TraitName)
def test_every_number_has_its_questions(name: TraitName, language: Language) -> None:
    questions = trait_questions_for_installation(name, language)
    assert len(set(questions)) == len(questions) == QUESTIONS
