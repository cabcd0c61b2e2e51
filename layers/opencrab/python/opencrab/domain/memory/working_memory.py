"""Working memory: what an agent notes for itself, gone with its goal's end or its next waking."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator

from opencrab.domain.document import Document
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Text, Value

WORKING = "working"
"""Kind and id of the document that stores working memory."""

WORKING_BYTES = 65_536
"""The size limit in UTF-8 bytes (Kingdom 5.4)."""


def _within(text: str) -> str:
    if len(text.encode()) > WORKING_BYTES:
        raise ValueError(f"must be at most {WORKING_BYTES} bytes of UTF-8: shorten it")
    return text


class WorkingMemory(Value):
    """Notes of an agent to itself; `tainted` if untrusted words may be among them.

    `turn_id`, `session_id` and `person_id` are those of the turn that wrote last.
    """

    text: Annotated[Text, AfterValidator(_within)] = ""
    turn_id: str = ""
    session_id: str = ""
    person_id: str = ""
    tainted: bool = False
    at: datetime


def write_working_memory(
    earlier: WorkingMemory | None, new: WorkingMemory, *, append: bool
) -> WorkingMemory:
    """Replace the notes by new ones, or add these on a new line (`append`).

    Notes appended to tainted ones are tainted. Raises Invalid with the size if they exceed
    WORKING_BYTES.
    """
    text, tainted = new.text, new.tainted
    if append and earlier is not None and earlier.text:
        text, tainted = f"{earlier.text}\n{new.text}", new.tainted or earlier.tainted
    size = len(text.encode())
    if size > WORKING_BYTES:
        raise Invalid(
            f"working memory would have {size} bytes, at most {WORKING_BYTES} are allowed",
            field="content",
            cure="write less, or replace what is there with append false",
        )
    return new.replaced(text=text, tainted=tainted)


def clear_stale_working_memory(
    stored: Document | None, turn_id: str, kept_for: Collection[str] = ()
) -> Document | None:
    """Return the write that removes working memory which this turn did not write.

    None if there is none, if this turn wrote it, or if it was written in a session of `kept_for`.
    """
    if stored is None or stored.body is None:
        return None
    written_by, session_id = (stored.body.get(key, "") for key in ("turn_id", "session_id"))
    if (turn_id and written_by == turn_id) or session_id in kept_for:
        return None
    return stored.removed()
