"""Transcripts: conversations of elsewhere as files to read; no journal here records them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TRANSCRIPTS = "imported/sessions"
"""The folder of the workspace in which transcripts lie."""

TRANSCRIPT_BYTES = 1 << 20
"""The size of one file, in bytes of UTF-8; a longer conversation has several."""

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def transcripts_of_bundle(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield path and Markdown of each conversation in a bundle, a long one in several files.

    No two have the same path, also where names differ only in what no file name has.
    """
    taken = set[str]()
    for path, text in _transcripts(rows):
        free, number = path, 1
        while free.casefold() in taken:
            number += 1
            free = f"{path.removesuffix('.md')}-{number}.md"
        taken.add(free.casefold())
        yield free, text


def _transcripts(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    name, title, lines, size, number = "", "", list[str](), 0, 0
    for row in rows:
        value = row.get("value")
        if not isinstance(value, dict):
            continue
        if row.get("kind") == "session":
            if lines:
                yield _path(name, number), "\n".join(lines)
            given = str(value.get("id", ""))
            name = _NO_NAME.sub("-", given)[:64]
            name = name if name.strip("-") else "session"
            title = _one_line(value.get("name") or value.get("theme") or given or name)
            lines, size, number = [f"# {title}", ""], 0, 0
        elif row.get("kind") == "line" and (said := _format_line(value)):
            size += len(said.encode())
            if size > TRANSCRIPT_BYTES and len(lines) > 2:  # noqa: PLR2004 - more than its title
                yield _path(name, number), "\n".join(lines)
                lines, size, number = [f"# {title}", ""], len(said.encode()), number + 1
            lines.append(said)
    if lines:
        yield _path(name, number), "\n".join(lines)


def _format_line(line: Mapping[str, Any]) -> str:
    text = line.get("text")
    if not isinstance(text, str) or not text.strip() or line.get("kind") == "action":
        return ""
    speaker = _one_line(line.get("speaker_name") or line.get("speaker") or "?")
    at = str(line.get("at", ""))[:16].replace("T", " ")
    quoted = "\n".join(f"> {each}" for each in text.splitlines())
    return f"**{speaker}** ({at}):\n{quoted}\n"


def _path(name: str, number: int) -> str:
    return f"{TRANSCRIPTS}/{name}{f'-{number + 1}' if number else ''}.md"


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:200]
