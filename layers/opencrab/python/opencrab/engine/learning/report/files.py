"""Learning reports as files of a workspace: what nights write they know again, and nobody else's.

Where somebody else has a file of that name the report lies beside it, and says so.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.learning.report_wording import WRITTEN, WrittenReports
from opencrab.domain.value import Language
from opencrab.engine.learning.report.phrases import report_phrase
from opencrab.ports.home import Home
from opencrab.ports.workspace.files import ABSENT

FOLDER = "reports/learning"

_BESIDE = "night"
_MARK = "<!-- OpenCrab: learning report {period} -->"
"""By its last line a night knows again what nights wrote; whatever else there is it leaves."""

_ENDINGS = {Language.EN: "md", Language.JA: "ja.md"}
LANGUAGES = tuple(_ENDINGS)

_TRIES = 3


@dataclass(frozen=True)
class NightReport:
    """The report on one period of an agent; what code wrote of it is known again `until` then.

    The mark alone does not say so: the agent itself may have edited the file and left the mark.
    """

    home: Home
    agent_id: str
    period: str
    until: datetime

    def put(self, language: Language, text: str, *, known: bool = True) -> str:
        """Write the report, and answer its path; one that is not to be worded need not be known.

        Raises Conflict where it may be written nowhere, and TooLarge.
        """
        for _ in range(_TRIES - 1):
            with suppress(Conflict):
                return self._put(language, text, known=known)
        return self._put(language, text, known=known)

    def written(self, language: Language) -> str:
        """Its text as it lies there; "" where none lies there that code wrote."""
        found = self._found(language)
        return "" if found is None else found[2]

    def reworked(self, language: Language, head: str, body: Callable[[str], str]) -> None:
        """Put a section on top of it, in the place of one with that heading; `body` of the rest.

        Raises Conflict where somebody else writes the file at this moment, and TooLarge.
        """
        found = self._found(language)
        if found is None:
            return
        path, version, text = found
        after = with_report_section(text, (head, body(without_report_section(text, head))))
        if after != text:
            self._write(path, after, version, known=True)

    def _put(self, language: Language, text: str, *, known: bool) -> str:
        path, condition = self._place(language)
        wanted, *_ = _paths(self.period, language)
        if path != wanted:
            text = f"{report_phrase('beside', language, path=wanted)}\n\n{text}"
        self._write(path, text, condition, known=known)
        return path

    def _write(self, path: str, text: str, condition: str, *, known: bool) -> None:
        """Write it; it is known before it lies there, so that a crash leaves nothing unknown."""
        content = f"{text}\n{_mark(self.period)}\n".encode()
        if known:
            self._remember(hashlib.sha256(content).hexdigest())
        self.home.files.write(self.agent_id, path, content, condition=condition, clean=True)

    def _remember(self, digest: str) -> None:
        facts = self.home.facts
        fact = facts.get(self.agent_id, WRITTEN, self.period)
        before = fact.read(WrittenReports) if fact else WrittenReports()
        after = before.with_digest(digest)
        if after == before:
            return
        first = new_fact(self.agent_id, WRITTEN, self.period, after, expires_at=self.until)
        facts.commit(fact.holding(after) if fact else first)

    def _found(self, language: Language) -> tuple[str, str, str] | None:
        """Path, version and text of the report, as it was when a night or its words came.

        One that others have edited is theirs: their words are nothing to ask a model about.
        """
        fact = self.home.facts.get(self.agent_id, WRITTEN, self.period)
        digests = fact.read(WrittenReports).digests if fact else ()
        for path in _paths(self.period, language):
            try:
                stored, content = self.home.files.read(self.agent_id, path)
            except NotFound:
                continue
            if _is_ours(content, self.period):
                if hashlib.sha256(content).hexdigest() not in digests:
                    return None
                text = content.decode().removesuffix(f"\n{_mark(self.period)}\n")
                return path, stored.version, text
        return None

    def _place(self, language: Language) -> tuple[str, str]:
        """Where a night may write, and on what condition; raises Conflict where it may nowhere."""
        paths = _paths(self.period, language)
        for path in paths:
            try:
                stored, content = self.home.files.read(self.agent_id, path)
            except NotFound:
                return path, ABSENT
            if _is_ours(content, self.period):
                return path, stored.version
        raise Conflict(f"{paths[-1]} and the file beside it are not learning reports and are kept")


def with_report_section(text: str, told: tuple[str, str]) -> str:
    """A report with a section, its heading and its body, before all others, once."""
    head, body = told
    title, first, rest = without_report_section(text, head).partition("\n## ")
    return f"{title}\n{head}\n\n{body}\n{first}{rest}"


def without_report_section(text: str, head: str) -> str:
    """A report without the section of that heading."""
    title, found, rest = text.partition(f"\n{head}\n\n")
    if not found:
        return text
    _, first, others = rest.partition("\n## ")
    return f"{title}{first}{others}"


def _is_ours(content: bytes, period: str) -> bool:
    return content.endswith(f"\n{_mark(period)}\n".encode())


def _paths(period: str, language: Language) -> tuple[str, ...]:
    name, ending = period.partition("-")[2], _ENDINGS[language]
    return f"{FOLDER}/{name}.{ending}", f"{FOLDER}/{name}.{_BESIDE}.{ending}"


def _mark(period: str) -> str:
    return _MARK.format(period=period)
