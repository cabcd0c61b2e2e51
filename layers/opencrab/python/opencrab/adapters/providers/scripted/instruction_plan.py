"""The scripted model's plan of standing instructions: a sentence each, with the times that it says.

It knows a few forms in English and Japanese; what else a sentence says stays a goal without a time.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from opencrab.domain.autonomy.instruction_plan import MOST_GOALS, NAME, PLAN_EDGES, WORDS
from opencrab.ports.models.model import ChatMessage, ChatRequest

_SENTENCE_END = re.compile(r"(?<=[\u3002！？])|(?<=[.!?;])\s+|\n")
_SEPARATORS = " \t,.;:、。:"
_WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEK_JA = "日月火水木金土"

_CLOCK = r"(?P<h>\d{1,2})(?:[:.](?P<m>\d{2}))?\s*(?P<half>am|pm)?(?:\s*o'clock)?"
_DAYS = "|".join(_WEEK)
_CLOCK_JA = (
    r"(?P<half>午前|午後)?(?P<h>\d{1,2})(?:時(?:(?P<m>\d{1,2})分|(?P<m30>半))?|:(?P<m2>\d{2}))"
)

_FILE_ENDING = r"(?![a-z_.]*\.(?:csv|html?|json|md|pdf|py|txt|ya?ml)(?![a-z]))"
_EVENT = rf"{_FILE_ENDING}(?P<type>[a-z]+(?:\.[a-z_]+)*\.(?:[a-z_]+|\*))"
_CONTENT = re.compile(
    r"(?<=[\w/]\.\w\w)\w{0,18}\s*[:\uff1a].*|「[^」]*」|『[^』]*』|\"[^\"]*\"", re.DOTALL
)
"""What is written to a file or said: no time stands there."""

Rule = tuple[str, Callable[[re.Match[str]], str]]


def _time(found: re.Match[str], days: str = "* * *") -> str:
    """Return the cron line of a time of day; raises ValueError for none."""
    parts = found.groupdict()
    hour = int(parts.get("h") or 8)
    minute = int(parts.get("m") or parts.get("m2") or (30 if parts.get("m30") else 0))
    if parts.get("half") in {"pm", "午後"} and hour < 12:  # noqa: PLR2004 - noon
        hour += 12
    return f"{minute} {hour} {days}"


def _on_day(found: re.Match[str]) -> str:
    day = found["day"].lower()
    number = _WEEK_JA.index(day) if day in _WEEK_JA else _WEEK.index(day[:3])
    return _time(found, f"* * {number}")


def _every(found: re.Match[str]) -> str:
    unit = found["unit"].lower()
    letter = "m" if unit.startswith(("min", "分")) else "d" if unit.startswith(("d", "日")) else "h"
    return f"@every {found['n'] or 1}{letter}"


def _rule_for(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _found: text


_RULES: tuple[Rule, ...] = (
    (rf"\bevery (?P<day>{_DAYS})\w*day(?: at {_CLOCK})?", _on_day),
    (rf"\b(?:daily|every day|each day|every morning) at {_CLOCK}\b", _time),
    (rf"\bevery (?:evening|night) at {_CLOCK}\b", _time),
    (r"\b(?:every evening|every night)\b", _rule_for("0 20 * * *")),
    (r"\b(?:daily|every day|each day|every morning)\b", _rule_for("0 8 * * *")),
    (r"\bevery (?:(?P<n>\d{1,3}) )?(?P<unit>minute|hour|day)s?\b", _every),
    (rf"\bonce (?:a|every) day(?: at {_CLOCK})?", _time),
    (rf"\bonce (?:a|every) week(?: at {_CLOCK})?", lambda found: _time(found, "* * 1")),
    (r"\b(?:once (?:an|every) hour|hourly)\b", _rule_for("@every 1h")),
    (rf"毎週(?P<day>[{_WEEK_JA}])曜日?の?(?:{_CLOCK_JA}に?)?", _on_day),
    (rf"(?:1|一)日に?(?:1|一)[回度](?:だけ)?、?(?:{_CLOCK_JA}に)?", _time),
    (rf"週に?(?:1|一)[回度](?:だけ)?、?(?:{_CLOCK_JA}に)?", lambda found: _time(found, "* * 1")),
    (rf"毎[日朝晩夜](?:の)?{_CLOCK_JA}に?", _time),
    (r"毎[晩夜]", _rule_for("0 20 * * *")),
    (r"毎[日朝]", _rule_for("0 8 * * *")),
    (r"(?P<n>\d{1,3})(?P<unit>分|時間|日)(?:ごと|おき)に?", _every),
    (r"毎時(?:間)?", _rule_for("@every 1h")),
    (
        r"(?:(?:\bwhen(?:ever)?|^on)(?: an?)?(?: event)?|\bon(?: an?)? event) "
        rf"{_EVENT}(?: (?:comes|happens|arrives))?",
        lambda found: f"event {found['type'].lower()}",
    ),
    (
        rf"{_EVENT}\s?(?:が)?(?:来たら|起きたら|届いたら|のとき)",
        lambda found: f"event {found['type'].lower()}",
    ),
    (r"\b(?:just |only )?once\b", _rule_for("once")),
    (r"(?:一度|一回|1回|1度)(?:だけ)", _rule_for("once")),
)


def instructions_asked_of_scripted_model(request: ChatRequest) -> str | None:
    """Return the instructions whose plan a request asks for; None if it is no such request."""
    last = request.turns[-1] if request.turns else None
    text = last.text if isinstance(last, ChatMessage) else ""
    for begin, end in PLAN_EDGES.values():
        _, found, rest = text.partition(f"\n{begin}\n")
        if found and rest.endswith(f"\n{end}") and not request.actions:
            return rest.removesuffix(f"\n{end}")
    return None


def scripted_plan(instructions: str, path_of: Callable[[str], str | None]) -> str:
    """Return the plan as JSON; `path_of` returns the file that a sentence asks to write."""
    sentences = [part.strip() for part in _SENTENCE_END.split(instructions)]
    told = [part for part in sentences if part.strip(_SEPARATORS)]
    # What does not fit stays together in the last one: nothing is left out.
    kept = [*told[: MOST_GOALS - 1], " ".join(told[MOST_GOALS - 1 :])]
    goals = list[dict[str, Any]]()
    for number, sentence in enumerate(filter(None, kept), 1):
        words, when = _without_time(sentence)
        name = " ".join(words.split())[: NAME - 4]
        if any(goal["name"].casefold() == name.casefold() for goal in goals):
            name = f"{name} ({number})"
        path = path_of(words)
        done_when = f"file:{path}" if path else ""
        goals.append({"name": name, "do": words[:WORDS], "done_when": done_when, "when": when})
    return json.dumps({"goals": goals}, ensure_ascii=False)


def _without_time(sentence: str) -> tuple[str, str]:
    """Return a sentence without its time, and the time as a plan writes it; "" for none."""
    # As long as the sentence, so that a place in one is the same in the other.
    told = _CONTENT.sub(lambda content: "\0" * len(content[0]), sentence)
    for pattern, when in _RULES:
        found = re.search(pattern, told, re.IGNORECASE)
        if found is not None:
            words = f"{sentence[: found.start()]} {sentence[found.end() :]}".strip(_SEPARATORS)
            return words or sentence, when(found)
    return sentence, ""
