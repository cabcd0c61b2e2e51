"""Ten thousand messages in Japanese: found again, within the budget, for what any turn costs."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import Line
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.turn.record import CallResult
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.prompt.request import build_turn_prompt_request, prompt_token_limit
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo, estimated_tokens
from opencrab.ports.turn.journal import StepState
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.searching import searching
from tests.unit.engine.compacting import grow, house, progress

MESSAGES = 10_000
SECRET = "灯台の鍵は赤い浮き輪の裏に隠してあるからね"
QUESTION = "灯台の鍵はどこに隠したと言っていましたか？"
SEARCH = Reply(calls=(("search_my_history", {"query": QUESTION}),))
ANSWER = Reply("赤い浮き輪の裏です。")
TOPICS = ("波の高さ", "漁の予定", "船の修理", "市場の値段", "台風の進路", "港の祭り", "網の手入れ")


def said(n: int) -> str:
    """Message n: talk of the harbour, and once where the key is."""
    if n == 37:
        return SECRET
    about, other = TOPICS[n % len(TOPICS)], TOPICS[(n // 7 + 3) % len(TOPICS)]
    return f"{n}番目の話です。{about}について考えていました。{other}のことも気になります。"


def long_house(folder: Path, count: int, *script: Reply, **rules: Any) -> House:
    """A house whose session has so many messages, with a search over it."""
    made, _ = house(folder, **{"every": 64} | rules)
    made.scripts["mika"] = script or (ANSWER,)
    grow(made, count, said, batch=500)
    search = searching(made.runtime.home, made.clock, folder / "search")
    made.runtime = replace(made.runtime, search=search)
    return made


def tokens(made: ChatRequest) -> int:
    schemas = "".join(schema.model_dump_json() for schema in made.actions)
    shown = [each.text if isinstance(each, ChatMessage) else each.content for each in made.turns]
    return sum(estimated_tokens(text) + 8 for text in (schemas, made.system, *shown))


def test_what_was_said_long_ago_is_found_and_every_prompt_keeps_to_its_budget(
    tmp_path: Path,
) -> None:
    made = long_house(tmp_path, MESSAGES, SEARCH, ANSWER)
    (turn,) = made.say(QUESTION, "q1")
    made.work()
    (result,) = [r for r in made.home.journal.load(turn.id).records if isinstance(r, CallResult)]
    assert result.result.data is not None
    best = result.result.data["results"][0]
    assert SECRET in str(best)
    assert made.home.journal.lines("s", limit=1, newest_first=True)[0].text == ANSWER.text
    assert progress(made).topics[0].id == "S1"
    made.say("もう一度お願いします。", "q2")
    made.work()
    water = prompt_token_limit(ModelInfo(name="x").max_input_tokens, made.runtime.rules)
    assert len(made.provider.seen) > 10
    assert max(map(tokens, made.provider.seen)) <= water
    asked = [request for request in made.provider.seen if request.model == "mika"][-1]
    shown = [each.text for each in asked.turns if isinstance(each, ChatMessage)]
    assert shown[0] == f"太郎 (taro): {said(1)}"
    assert "9" in shown[1]
    assert "S1 2026-01-05: 海の話" in shown[1]
    made.close()


def test_two_renders_a_minute_apart_share_their_prefix_byte_for_byte(tmp_path: Path) -> None:
    made = long_house(tmp_path, MESSAGES)
    made.say("最初の質問", "q1")
    made.work()
    (turn,) = made.say("次の質問", "q2")
    renders = []
    for _ in range(2):
        work = load_turn_work(made.runtime, turn, Transcript())
        renders.append(
            build_turn_prompt_request(
                work, ModelInfo(name="fake:mika"), CallOptions(), work.look(StepState(None, ()))
            )
        )
        made.clock.advance(60)
    first, second = renders
    assert (first.actions, first.system) == (second.actions, second.system)
    assert repr(first.turns[:-1]).encode() == repr(second.turns[:-1]).encode()
    assert first.turns[-1] != second.turns[-1]
    made.close()


@dataclass
class Reader:
    """A journal that counts the lines that are read from it."""

    journal: Any
    lines_read: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def lines(self, *arguments: Any, **named: Any) -> tuple[Line, ...]:
        found: tuple[Line, ...] = self.journal.lines(*arguments, **named)
        self.lines_read += len(found)
        return found


def cost(folder: Path, count: int) -> tuple[Counter[str], int, int]:
    """What one turn costs in such a session: calls of ports, lines read, tokens sent."""
    made = long_house(folder, count, every=0)
    made.say("暖機", "warm")
    made.work()
    reader = Reader(made.runtime.home.journal)
    home = replace(made.runtime.home, journal=reader)
    made.runtime = replace(made.runtime, home=home)
    made.calls.clear()
    made.provider.reset()
    made.say("今日の予定は？", "q1")
    made.work()
    calls = Counter(made.calls)
    made.close()
    return calls, reader.lines_read, sum(map(tokens, made.provider.seen))


@pytest.mark.parametrize("few", [100, 1_000])
def test_a_turn_costs_the_same_however_long_its_session_is(few: int, tmp_path: Path) -> None:
    small, large = cost(tmp_path / "few", few), cost(tmp_path / "many", MESSAGES)
    assert large[0].total() <= small[0].total() * 1.2
    assert large[1] <= small[1] * 1.2
    assert large[2] <= small[2] * 1.2
    assert large[1] < 120
