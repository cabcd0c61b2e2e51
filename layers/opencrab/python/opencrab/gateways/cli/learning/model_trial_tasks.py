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
    """One thing that an answer must be; exactly one of the four.

    Widths, capitals and full-width digits make no difference. A `number` may stand anywhere in the
    answer and be off by `within`; of `contains` one must be there, of `lacks` none.
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
            raise ValueError("use one of number, contains, lacks and regex")
        return self

    def holds(self, answer: str, name: str) -> bool:
        """Whether an answer of an agent with this name passes."""
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
    """One task: what is asked, by language or for all of them, and what the answer must be."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_\-]{1,40}$")]
    ask: str | dict[str, str]
    checks: Annotated[tuple[AnswerCheck, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _asks(self) -> "TrialTask":
        texts = self.ask.values() if isinstance(self.ask, dict) else (self.ask,)
        if not texts or not all(text.strip() for text in texts):
            raise ValueError("ask something")
        return self

    def asked(self, language: str, name: str) -> str:
        """What an agent of this name and language is asked, else in a language that there is."""
        if isinstance(self.ask, dict):
            text = self.ask.get(language) or next(iter(self.ask.values()))
        else:
            text = self.ask
        return text.replace(_NAME, name)

    def score(self, answer: str, name: str) -> float:
        """The share of checks that an answer passes, 0..1."""
        return sum(check.holds(answer, name) for check in self.checks) / len(self.checks)


class _Listed(Value):
    tasks: Annotated[tuple[TrialTask, ...], Field(min_length=1, max_length=100)]


def read_tasks(path: Path) -> tuple[TrialTask, ...]:
    """The tasks of a TOML file; raises Invalid naming what is wrong, and where."""
    try:
        listed = _Listed.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise Invalid(f"{str(path)!r} cannot be read: {error.strerror}", field="tasks") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(f"{str(path)!r} is not valid TOML: {error}", field="tasks") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Invalid(f"{str(path)!r}: {place}: {first['msg']}", field="tasks") from None
    ids = [task.id for task in listed.tasks]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise Invalid(f"{str(path)!r}: several tasks are named {', '.join(twice)}", field="tasks")
    return listed.tasks


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-")


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        yield float(found.replace(",", ""))
