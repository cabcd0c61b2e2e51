"""Learning reports as workspace files: only files written by a nightly run are overwritten.

If another file has the report's name, the report gets a second name and says so.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.insight.report_wording import WRITTEN, WrittenReports
from opencrab.domain.value import Language
from opencrab.engine.learning.report.phrases import ReportPhrases
from opencrab.ports.home import Home
from opencrab.ports.workspace.files import ABSENT

FOLDER = "reports/learning"

_BESIDE = "night"
_MARK = "<!-- OpenCrab: learning report {period} -->"
"""Last line of a report; a nightly run overwrites only files that end with it."""

_ENDINGS = {Language.EN: "md", Language.JA: "ja.md"}
LANGUAGES = tuple(_ENDINGS)

_TRIES = 3


@dataclass(frozen=True)
class NightReport:
    """The file of one report; hashes of what code wrote are kept until `until`.

    The mark at the end of the file is not enough, since the agent may have edited the file and left
    the mark.
    """

    home: Home
    agent_id: str
    period: str
    until: datetime

    def put(self, language: Language, text: str, *, known: bool = True) -> str:
        """Write the report and return its path; the hash is kept if `known`.

        Raises Conflict if both paths have other files, and TooLarge.
        """
        for _ in range(_TRIES - 1):
            with suppress(Conflict):
                return self._put(language, text, known=known)
        return self._put(language, text, known=known)

    def written(self, language: Language) -> str:
        """Return the report's text; "" if there is none or somebody edited it."""
        found = self._found(language)
        return "" if found is None else found[2]

    def replace_section(self, language: Language, head: str, body: Callable[[str], str]) -> None:
        """Insert a section at the top, replacing the one with this heading.

        `body` makes its text from the rest of the report. Does nothing if somebody edited the file.
        Raises Conflict if the file is being written by another process, and TooLarge.
        """
        found = self._found(language)
        if found is None:
            return
        path, version, text = found
        after = learning_report_with_section(
            text, (head, body(learning_report_without_section(text, head)))
        )
        if after != text:
            self._write(path, after, version, known=True)

    def _put(self, language: Language, text: str, *, known: bool) -> str:
        path, condition = self._place(language)
        wanted, *_ = self._paths(language)
        if path != wanted:
            text = f"{ReportPhrases(language)('beside', path=wanted)}\n\n{text}"
        self._write(path, text, condition, known=known)
        return path

    def _write(self, path: str, text: str, condition: str, *, known: bool) -> None:
        """Write the file; its hash is stored first, so that a crash leaves no unknown file."""
        content = f"{text}{self._end}".encode()
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
        facts.commit(fact.with_body(after) if fact else first)

    def _found(self, language: Language) -> tuple[str, str, str] | None:
        """Return path, version and text of the report as code wrote it, else None.

        A report that somebody edited is not used: its text must not be part of a prompt.
        """
        fact = self.home.facts.get(self.agent_id, WRITTEN, self.period)
        digests = fact.read(WrittenReports).digests if fact else ()
        for path in self._paths(language):
            version, content = self._read(path)
            if content.endswith(self._end.encode()):
                is_known = hashlib.sha256(content).hexdigest() in digests
                text = content.decode().removesuffix(self._end)
                return (path, version, text) if is_known else None
        return None

    def _place(self, language: Language) -> tuple[str, str]:
        """Return the path to write and the condition; raises Conflict if both are taken."""
        paths = self._paths(language)
        for path in paths:
            version, content = self._read(path)
            if version == ABSENT or content.endswith(self._end.encode()):
                return path, version
        raise Conflict(
            f"files {paths[0]!r} and {paths[1]!r} exist and are not learning reports",
            cure="rename or delete one of them",
        )

    def _read(self, path: str) -> tuple[str, bytes]:
        """Return version and content of a file; ABSENT without content if there is none."""
        try:
            stored, content = self.home.files.read(self.agent_id, path)
        except NotFound:
            return ABSENT, b""
        return stored.version, content

    def _paths(self, language: Language) -> tuple[str, str]:
        name, ending = self.period.partition("-")[2], _ENDINGS[language]
        return f"{FOLDER}/{name}.{ending}", f"{FOLDER}/{name}.{_BESIDE}.{ending}"

    @property
    def _end(self) -> str:
        return f"\n{_MARK.format(period=self.period)}\n"


def learning_report_with_section(text: str, told: tuple[str, str]) -> str:
    """Return a report with a section (heading, body) at the top, replacing an earlier one."""
    head, body = told
    title, first, rest = learning_report_without_section(text, head).partition("\n## ")
    return f"{title}\n{head}\n\n{body}\n{first}{rest}"


def learning_report_without_section(text: str, head: str) -> str:
    """Return a report without the section with this heading."""
    title, found, rest = text.partition(f"\n{head}\n\n")
    if not found:
        return text
    _, first, others = rest.partition("\n## ")
    return f"{title}{first}{others}"
