"""Evaluation tasks: what models are asked to compare them, and checks that need no judge."""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator, model_validator

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Value

SHIPPED = Path(__file__).with_name("eval_tasks.toml")
"""The tasks that come with the program, in English and Japanese."""

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_NAME = "{name}"

Texts = Annotated[tuple[str, ...], Field(min_length=1, max_length=50)]


class AnswerCheck(Value):
    """One check of an answer: exactly one of the four kinds.

    Character width is ignored, and case too except for `regex`. `number`: a number in the answer
    differs from it by `within` at most. `contains`: one of these texts is there. `lacks`: none of
    these is.
    """

    number: float | None = None
    within: Annotated[float, Field(ge=0)] = 0.0
    contains: Texts | None = None
    lacks: Texts | None = None
    regex: str | None = None

    @field_validator("regex")
    @classmethod
    def _compiles(cls, text: str | None) -> str | None:
        try:
            re.compile(text or "")
        except re.error as error:
            raise ValueError(f"is not a valid regular expression: {error}") from None
        return text

    @model_validator(mode="after")
    def _is_one(self) -> "AnswerCheck":
        kinds = (self.number, self.contains, self.lacks, self.regex)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a check needs exactly one of number, contains, lacks and regex")
        return self

    def holds(self, answer: str, name: str) -> bool:
        """Check whether an answer passes; `name` is the agent's."""
        text = _plain(answer)
        if self.number is not None:
            return any(abs(each - self.number) <= self.within for each in _numbers(text))
        if self.regex is not None:
            return re.search(self.regex, text.strip(), re.DOTALL) is not None
        wanted = self.contains or self.lacks or ()
        folded = text.casefold()
        there = any(_plain(each.replace(_NAME, name)).casefold() in folded for each in wanted)
        return there is (self.contains is not None)


class TrialTask(Value):
    """One task: the question, by language or for all of them, and the checks of the answer."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_\-]{1,40}$")]
    ask: str | dict[str, str]
    checks: Annotated[tuple[AnswerCheck, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _asks(self) -> "TrialTask":
        texts = self.ask.values() if isinstance(self.ask, dict) else (self.ask,)
        if not texts or not all(text.strip() for text in texts):
            raise ValueError("ask is blank: write a question")
        return self

    def question(self, language: str, name: str) -> str:
        """Return the question in a language, else in the first one that there is."""
        if isinstance(self.ask, dict):
            text = self.ask.get(language) or next(iter(self.ask.values()))
        else:
            text = self.ask
        return text.replace(_NAME, name)

    def score(self, answer: str, name: str) -> float:
        """Return the share of checks that an answer passes, 0..1."""
        return sum(check.holds(answer, name) for check in self.checks) / len(self.checks)


class _Listed(Value):
    tasks: Annotated[tuple[TrialTask, ...], Field(min_length=1, max_length=100)]


def read_learning_trial_tasks(path: Path) -> tuple[TrialTask, ...]:
    """Read the tasks of a TOML file; raises Invalid with the place and the cause of an error."""
    try:
        listed = _Listed.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise Invalid(
            f"{str(path)!r} cannot be read: {error.strerror}",
            field="tasks",
            cure="check the path and its permissions",
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(
            f"{str(path)!r} is not valid TOML: {error}", field="tasks", cure="correct it there"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Invalid(
            f"{str(path)!r}: {place}: {first['msg']}", field="tasks", cure="correct it there"
        ) from None
    ids = [task.id for task in listed.tasks]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise Invalid(
            f"{str(path)!r}: several tasks are named {', '.join(twice)}",
            field="tasks",
            cure="give each task its own id",
        )
    return listed.tasks


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-")


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        yield float(found.replace(",", ""))
