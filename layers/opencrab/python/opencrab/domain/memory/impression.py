"""Impressions: how what an agent thinks of somebody grows from session to session."""

import re
from collections.abc import Mapping
from datetime import datetime

from opencrab.domain.memory.memory import Impression, SessionImpression
from opencrab.domain.text.plain import text_on_one_line
from opencrab.domain.value import Language

HISTORY = 20
"""The number of sessions whose notes about a person are kept."""

NEUTRAL = {Language.EN: "neutral", Language.JA: "中立"}
"""An agent's view of a person's opinions before it knows them."""

_MENTION = re.compile(r"<@!?\d+>|^@|#\d{4}$")
_NAME = 100


def first_impression(
    target_id: str, name: str | None, language: Language, now: datetime
) -> Impression:
    """Build a neutral impression of a person whom the agent does not know yet."""
    return Impression(
        target_id=target_id,
        target_name=impression_person_label(name or "", target_id),
        agreement=NEUTRAL[language],
        created_at=now,
        updated_at=now,
    )


def impression_person_label(name: str, target_id: str) -> str:
    """Return a name without a platform's marks (<@id>, @, #1234), else the id.

    The label is one line of at most 100 characters.
    """
    bare = text_on_one_line(_MENTION.sub("", text_on_one_line(name)))[:_NAME].strip()
    return bare or target_id


def note_impression(
    earlier: Impression,
    said: Mapping[str, str],
    *,
    session_id: str,
    turn_id: str,
    taint: bool,
    now: datetime,
) -> Impression:
    """Return an impression with new notes.

    In another session than the last one, the notes of the last session move to `history` first.
    Once tainted it stays so: its words cannot be told apart by source.
    """
    changes = dict(said)
    if "target_name" in changes:
        changes["target_name"] = impression_person_label(
            changes["target_name"], earlier.target_name
        )
    return earlier.replaced(
        **changes,
        history=_history(earlier, session_id),
        tainted=earlier.tainted or taint,
        session_id=session_id,
        turn_id=turn_id,
        updated_at=now,
    )


def _history(earlier: Impression, session_id: str) -> tuple[SessionImpression, ...]:
    if not earlier.session_id or earlier.session_id == session_id:
        return earlier.history
    left = SessionImpression(
        session_id=earlier.session_id,
        turn_id=earlier.turn_id,
        agreement=earlier.agreement,
        recent_behavior=earlier.recent_behavior,
        notes=earlier.notes,
        at=earlier.updated_at,
    )
    others = (each for each in earlier.history if each.session_id != left.session_id)
    return (*others, left)[-HISTORY:]
