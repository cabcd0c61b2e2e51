"""Reading a prompt as the player does: who it is, what the turn is for, and what it did already.

Everything comes from the one request. The player has no other source, and keeps nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencrab.domain.statistics.hash_bucket import hash_fraction
from opencrab.domain.value import Language
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest
from opencrab.ports.texts import Texts

_SAY, _TOPIC, _MARK = (Texts(__file__, key) for key in ("say", "topic", "mark"))

_JAPANESE = re.compile(r"[\u3040-\u30ff]")
_NAME = re.compile(r"^(?:Name|名前): (.+)$", re.MULTILINE)
_JOB = re.compile(r"^(?:Job|職種): (.+)$", re.MULTILINE)
_NOW = re.compile(r"(?:time|時刻) (\d{4}-\d\d-\d\d \d\d:\d\d)")
_SPEAKER = re.compile(r"^(?P<name>[^\n(:]{1,100}) \((?P<id>[\w-]{1,64})\): ")
_CONDITION = re.compile(r"file:([^\s,;、。)）]+)")
_OFFER = re.compile(r"\bplans/[\w-]+\.md")
_TASK = re.compile(r"\[(?:\w+ )?(G[1-9][0-9]*-T[1-9][0-9]?)\b")
_GOAL = re.compile(r"\[(?:\w+ )?(G[1-9][0-9]*)\b(?!-)")
_NUMBERED = re.compile(r"^([1-9][0-9]?)\. ", re.MULTILINE)
_TOPICS = 10
_NO_TIME = "2026-01-01 00:00"


@dataclass(frozen=True)
class PlayerCall:
    """A call that the player made in this turn, with the action that it named and the result."""

    name: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True)
class PlayerPrompt:
    """What a request says: `trigger` began the turn, `note` is the context after it."""

    seed: int
    language: Language
    name: str
    job: str
    now: datetime
    trigger: str
    note: str
    told: tuple[tuple[str, str], ...]
    calls: tuple[PlayerCall, ...]

    @classmethod
    def of(cls, seed: int, request: ChatRequest) -> "PlayerPrompt":
        """Read a request."""
        said = [
            (place, turn)
            for place, turn in enumerate(request.turns)
            if isinstance(turn, ChatMessage) and turn.role == "user"
        ]
        named = [(place, turn) for place, turn in said if turn.name]
        place, trigger = (named or said)[-1]
        note = said[-1][1].text
        name, job = _NAME.search(request.system), _JOB.search(request.system)
        now = _NOW.search(note)
        return cls(
            seed=seed,
            language=Language.JA if _JAPANESE.search(request.system) else Language.EN,
            name=name[1].strip() if name else "",
            job=job[1].strip() if job else "",
            now=datetime.fromisoformat(f"{now[1] if now else _NO_TIME}+00:00"),
            trigger=_SPEAKER.sub("", trigger.text, count=1),
            note=note,
            told=_list_words(request.turns[: place + 1]),
            calls=_calls(request.turns[place:]),
        )

    @property
    def task(self) -> str | None:
        """The task that the turn is for."""
        found = _TASK.search(self.trigger) or _TASK.search(self.note)
        return found[1] if found else None

    @property
    def goal(self) -> str | None:
        """The goal that the turn is for."""
        found = _GOAL.search(self.trigger) or _GOAL.search(self.note)
        return found[1] if found else None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that must be there in the end, as the goal or its task says."""
        return tuple(
            name.rstrip(".") for name in _CONDITION.findall(f"{self.trigger}\n{self.note}")
        )

    @property
    def is_reporting(self) -> bool:
        """True if all tasks of the goal have ended, and it shall be reported."""
        return "plan_goal" not in self.note

    @property
    def asked_tasks(self) -> tuple[int, ...]:
        """The numbers of the tasks that it is asked to take over."""
        return tuple(int(number) for number in _NUMBERED.findall(self.trigger))

    @property
    def offers(self) -> tuple[tuple[str, str], ...]:
        """Who said which file it will write, by id; its own ones by its name."""
        found = [(who, path) for who, text in self.told for path in _OFFER.findall(text)]
        return tuple(dict(found).items())

    def says(self, mark: str) -> bool:
        """Check whether what began the turn contains one of the words that the player knows."""
        return _MARK[mark][self.language] in self.trigger

    @property
    def is_question(self) -> bool:
        """True if another agent wrote to it directly, with a purpose."""
        return self.trigger.startswith(f"[{_MARK['purpose'][self.language]}")

    def called(self, name: str) -> PlayerCall | None:
        """Return its last call of an action in this turn, or None."""
        return next((each for each in reversed(self.calls) if each.name == name), None)

    def chance(self, *parts: object) -> float:
        """Return a number from 0 to 1, the same for the same seed, agent and parts."""
        return scripted_player_chance(self.seed, self.name, *parts)

    def words(self, key: str, **more: object) -> str:
        """Return one of the sentences that the player says."""
        number = int(self.chance(self.trigger, key) * 1_000)
        topic = _TOPIC[str(number % _TOPICS)][self.language]
        return _SAY[key][self.language].format(
            **{"job": self.job or self.name, "topic": topic, "number": number, **more}
        )


def scripted_player_chance(seed: int, *parts: object) -> float:
    """Return a pseudo-random number from 0 to 1, the same for the same arguments."""
    return hash_fraction(*map(str, (seed, *parts)))


def is_mark_of_scripted_player(mark: str, text: str) -> bool:
    """Check whether a text contains words that the player knows, in any language."""
    return any(words in text for words in _MARK[mark].values())


def _list_words(turns: tuple[ChatMessage | CallReturn, ...]) -> tuple[tuple[str, str], ...]:
    """Return who said what until now; "" is the agent itself."""
    told = []
    for turn in turns:
        if not isinstance(turn, ChatMessage):
            continue
        speaker = _SPEAKER.match(turn.text)
        if turn.role == "assistant":
            told.append(("", turn.text))
        elif speaker is not None:
            told.append((speaker["id"], turn.text))
    return tuple(told)


def _calls(turns: tuple[ChatMessage | CallReturn, ...]) -> tuple[PlayerCall, ...]:
    results = {turn.call_id: turn.content for turn in turns if isinstance(turn, CallReturn)}
    found = []
    for turn in turns:
        for call in turn.calls if isinstance(turn, ChatMessage) else ():
            given: Mapping[str, Any] = call.arguments or {}
            inner = given.get("arguments") if call.name == "use_action" else given
            name = str(given.get("name", "")) if call.name == "use_action" else call.name
            arguments = inner if isinstance(inner, Mapping) else {}
            found.append(PlayerCall(name, arguments, results.get(call.id, "")))
    return tuple(found)
