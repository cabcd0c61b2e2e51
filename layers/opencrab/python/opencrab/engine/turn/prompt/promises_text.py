"""Promises as text: what an agent promised to whom, and what others promised it, in a few lines."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from opencrab.domain.goals.promise import BriefPromise, PromiseBoard, PromiseStatus
from opencrab.domain.value import Language
from opencrab.ports.models.model import (
    NO_TEXT,
    PromptText,
    TrustedText,
    fill_model_template,
    join_texts_for_model_call,
    label_text_for_model_call,
)
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

LISTED = 5
"""The most promises of each kind: open ones by their due time, then settled ones."""

_NEWS = timedelta(days=1)
"""How long a settled promise is told."""

_NAME, _NAMES = 40, 3
_TEXTS = Texts(__file__)


def prompt_text_of_promises(
    board: PromiseBoard | None, language: Language, now: datetime, zone: str, *, tainted: bool
) -> PromptText:
    """Return the lines on promises; only tainted turns see their words, which are of peers."""
    if board is None:
        return NO_TEXT
    parts = list[PromptText]()
    for key, promises in (("made", board.made), ("received", board.received)):
        rows = [
            _row(key, promise, language, zone, tainted=tainted)
            for promise in _promises_to_list(promises, now)
        ]
        if rows:
            parts += [TrustedText(_TEXTS[f"{key}_head"][language]), *rows]
    return join_texts_for_model_call("\n", parts)


def _promises_to_list(promises: Iterable[BriefPromise], now: datetime) -> list[BriefPromise]:
    """Return the promises to tell: the open ones, and those that were settled lately."""
    shown = (
        each for each in promises if each.status is PromiseStatus.OPEN or now - each.at < _NEWS
    )
    ranked = sorted(shown, key=lambda each: (each.status is not PromiseStatus.OPEN, each.due))
    return ranked[:LISTED]


def _row(
    key: str, promise: BriefPromise, language: Language, zone: str, *, tainted: bool
) -> PromptText:
    hidden = TrustedText(_TEXTS["hidden"][language])
    names = [one_line(name, _NAME) for name in promise.names[:_NAMES]]
    others = ", ".join(names) + ("…" if len(promise.names) > _NAMES else "")
    return fill_model_template(
        _TEXTS[key][language],
        goal=TrustedText(promise.goal_id),
        name=TrustedText(one_line(promise.name, _NAME)),
        names=TrustedText(others),
        what=label_text_for_model_call(promise.what, tainted=True) if tainted else hidden,
        due=TrustedText(f"{promise.due.astimezone(ZoneInfo(zone)):%m-%d %H:%M}"),
        status=TrustedText(_TEXTS[promise.status.value][language]),
    )
