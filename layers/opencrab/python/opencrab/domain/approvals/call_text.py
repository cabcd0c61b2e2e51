"""The exact text of a call: its arguments, and the change that it makes, for people who decide.

Nothing is cut, and what hides in it is visible.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import StringConstraints

from opencrab.domain.errors import Conflict
from opencrab.domain.text.visible import text_line_showing_hidden, text_showing_hidden
from opencrab.domain.value import Value

SHORT_HASH = 16
"""Hexadecimal digits of a call's SHA-256 that a card shows."""

ShownHash = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16}|[0-9a-f]{64})$")]
"""The hash of a call as somebody saw it: whole, or its first 16 digits."""

_ESCAPE = re.compile(r"\\(.)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_COMPARED = 1_000
"""Lines on each side that are compared; more count as replaced, as comparing takes their square."""

_CONTEXT = 3
_FENCE = "```"
_SHOWN_HASH = re.compile(r"\n```\nSHA-256 `([0-9a-f]{16})`\Z")
_UNENDED = "\\ No newline at end of file"


class TextChange(Value):
    """A text that a call replaces: what it is now and what it becomes, None if there is none."""

    name: str
    before: str | None
    after: str | None


def approval_call_arguments(arguments: Mapping[str, Any]) -> str:
    r"""Format all arguments as JSON, with hidden characters visible.

    A line break follows every `\n` inside a string, so that a file's content has its lines. It
    cannot be mistaken for the end of the string, whose quotes are escaped.
    """
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    broken = _ESCAPE.sub(lambda found: found[0] + ("\n    " if found[1] == "n" else ""), text)
    return text_showing_hidden(broken)


def unified_diff_for_approval(change: TextChange) -> str:
    """Format a change as a unified diff, with hidden characters visible; "" without a change."""
    before, after = _lines(change.before), _lines(change.after)
    if change.before == change.after:
        return ""
    name = text_line_showing_hidden(change.name)
    heads = (
        f"--- {'/dev/null' if change.before is None else name}",
        f"+++ {'/dev/null' if change.after is None else name}",
    )
    return "\n".join((*heads, *_hunks(before, after)))


def approval_question_with_call(question: str, arguments: str, argument_hash: str) -> str:
    """Return a question to a human with the whole call below it, as Markdown.

    No back tick of the question or the arguments can end the block that shows them.
    """
    asked = question.replace("`", backtick_mark_for_approval(1))
    shown = arguments.replace(_FENCE, backtick_mark_for_approval(3))
    hashed = f"SHA-256 `{approval_hash(argument_hash)}`"
    return f"{asked}\n{_FENCE}json\n{shown}\n{_FENCE}\n{hashed}"


def hash_shown_in_approval(text: str) -> str:
    """Return the short hash in a text of `question_with_call`; "" for any other text."""
    found = _SHOWN_HASH.search(text)
    return found[1] if found else ""


def backtick_mark_for_approval(times: int) -> str:
    """Return the mark of so many back ticks."""
    return f"⟨U+0060{f'×{times}' if times > 1 else ''}⟩"


def name_of_call_for_approval(action: str, impact: str) -> str:
    """Return what everybody who reads a session may know of a call that waits for approval."""
    return f"{action} ({impact})"


def approval_hash(argument_hash: str) -> str:
    """Return the part of a call's hash that a card shows."""
    return argument_hash[:SHORT_HASH]


def is_approval_hash_of(shown: str, argument_hash: str) -> bool:
    """Check whether a shown hash, whole or short, is that of a call."""
    return shown in {argument_hash, approval_hash(argument_hash)}


def require_shown_approval(wanted: str, argument_hash: str, shown_hash: str | None) -> None:
    """Raise Conflict if the decider saw another call than the approval is bound to."""
    if shown_hash is not None and not is_approval_hash_of(shown_hash, argument_hash):
        raise Conflict(
            f"approval {wanted!r} is for a call with another argument_hash than {shown_hash!r}",
            field="argument_hash",
            cure="read the approval again, then decide with the hash that it shows",
        )


def _lines(text: str | None) -> list[str]:
    """Split a text after its line feeds and nowhere else."""
    return _LINE.findall(text or "")


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    """Compare lines; a long middle that differs is shown as removed and added whole."""
    if max(len(before), len(after)) <= _COMPARED:
        for line in list(difflib.unified_diff(before, after, n=_CONTEXT))[2:]:
            yield _diff_line(line[0], line[1:]) if line[0] in " +-" else line.rstrip("\n")
        return
    begin = _common(before, after)
    end = _common(before[begin:][::-1], after[begin:][::-1])
    first = max(begin - _CONTEXT, 0)
    old, new = before[begin : len(before) - end], after[begin : len(after) - end]
    below = before[len(before) - end :][:_CONTEXT]
    around = begin - first + len(below)
    yield f"@@ -{first + 1},{around + len(old)} +{first + 1},{around + len(new)} @@"
    for sign, lines in ((" ", before[first:begin]), ("-", old), ("+", new), (" ", below)):
        yield from (_diff_line(sign, line) for line in lines)


def _diff_line(sign: str, line: str) -> str:
    """Format a line of a diff; one without an end says so, as in `diff`."""
    end = "" if line.endswith("\n") else f"\n{_UNENDED}"
    return f"{sign}{text_showing_hidden(line.removesuffix(chr(10)))}{end}"


def _common(before: list[str], after: list[str]) -> int:
    """Return how many lines both begin with."""
    differ = (n for n, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    return next(differ, min(len(before), len(after)))
