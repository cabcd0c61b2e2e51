"""Faces: what people see of speech, of a question to a human, and of how far an instruction is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.domain.approvals.call_text import hash_shown_in_approval
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.discord.community import InteractionReply
from opencrab.domain.text.message_split import LIMIT, first_piece_of_text, split_text_to_limit
from opencrab.domain.value import Language
from opencrab.ports.conversation.channel import Panel, PanelRow
from opencrab.ports.discord import Attachment, Payload
from opencrab.ports.texts import Texts

MOST_PIECES = 5
"""Messages that one speech may take; a longer one travels as a file."""

FILE = "answer.md"

_STOP = "oc:sp:"
_WRITING = "⏳"
_PLAIN, _GREEN, _RED = 2, 3, 4
_TITLE, _DESCRIPTION, _FOOTER, _NAME = 256, 4_000, 500, 200
_CELLS = 10
_COLOURS = {
    "pending": 0x99AAB5,
    "active": 0x5865F2,
    "waiting": 0xFEE75C,
    "paused": 0xFEE75C,
    "completed": 0x57F287,
    "answered": 0xFEE75C,
    "abandoned": 0xED4245,
}
_MARKS = {"pending": "⬜", "active": "🔄", "done": "✅", "fail": "❌"}
_MOVES = {
    "pending": ("cn", "pa"),
    "active": ("cn", "pa", "st"),
    "waiting": ("cn", "pa", "st"),
    "paused": ("re", "cn"),
}
_STYLES = {"cn": _RED, "re": _GREEN}

_WORDS = Texts(__file__)
_MARKED = re.compile(r"([\\`*_~|<>#\[\]()@]|(?<=[a-zA-Z]):(?=//)|^[-+](?=\s)|(?<=\d)\.(?=\s))")
_UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


@dataclass(frozen=True)
class RenderedMessage:
    """One Discord message, with its attachments."""

    message: Payload
    files: tuple[Attachment, ...] = ()


def discord_messages_of_utterance(
    utterance: Utterance, reply: InteractionReply | None
) -> tuple[RenderedMessage, ...]:
    """Render an utterance as Discord messages, in order; empty for an empty text.

    A text that needs more than MOST_PIECES messages, or more than one for a guest, becomes a file.
    """
    is_guest = reply is not None and reply.is_guest
    text = utterance.text
    # Most answers are one message.
    is_one = text.strip() and _units(text) <= LIMIT
    shown = (text,) if is_one else split_text_to_limit(text)
    rows = _rows(utterance, reply)
    below = {"components": rows} if rows else {}
    if len(shown) > (1 if is_guest else MOST_PIECES):
        return (_as_file(text, reply, below),)
    last = len(shown) - 1
    return tuple(
        RenderedMessage({"content": piece, **(below if place == last else {})})
        for place, piece in enumerate(shown)
    )


def discord_preview_content(text: str) -> str:
    """Render the words of an answer so far; the hourglass says that more comes.

    What does not fit one message follows when the answer is complete.
    """
    piece = first_piece_of_text(text.strip()[: 2 * LIMIT], LIMIT - len(_WRITING) - 1)
    return f"{piece} {_WRITING}".strip()


def discord_preview_message(content: str, turn_id: str, language: Language) -> Payload:
    """Return a message with the button that stops a turn."""
    button = _button(_WORDS["stop"][language], f"{_STOP}{turn_id}", _PLAIN)
    return {"content": content, "components": [{"type": 1, "components": [button]}]}


def discord_message_of_task_panel(shown: Panel) -> Payload:
    """Render an instruction's progress, tasks and control buttons."""
    language, filled = shown.language, min(max(shown.percent, 0), 100) * _CELLS // 100
    head = f"{'▰' * filled}{'▱' * (_CELLS - filled)} {shown.percent}%"
    note = f"\n\n{_line(shown.note, 2 * _NAME)}" if shown.note.strip() else ""
    room = _DESCRIPTION - len(head) - _units(note)
    embed = {
        "title": _cut(f"{shown.goal} {_line(shown.name, _NAME)}", _TITLE),
        "description": f"{head}{_render_task_list(shown.rows, language, room)}{note}",
        "color": _COLOURS.get(shown.standing, _COLOURS["pending"]),
        "footer": {
            "text": _cut(
                f"{' '.join(shown.agent_name.split())} · {_standing(shown, language)}", _FOOTER
            )
        },
    }
    moves = () if shown.over else _MOVES.get(shown.standing, ())
    buttons = [
        _button(
            _WORDS[move][language],
            f"oc:{move}:{shown.agent_id}:{shown.goal}",
            _STYLES.get(move, _PLAIN),
        )
        for move in moves
    ]
    rows = [{"type": 1, "components": buttons}] if buttons else []
    return {"content": "", "embeds": [embed], "components": rows}


def _as_file(
    text: str, reply: InteractionReply | None, below: Mapping[str, Any]
) -> RenderedMessage:
    notice = _localized_text("file", reply, "\n")
    content = f"{first_piece_of_text(text, LIMIT - len(notice) - 1)}\n{notice}"
    file = Attachment(FILE, text.encode("utf-8", "replace"), "text/markdown; charset=utf-8")
    return RenderedMessage({"content": content, **below}, (file,))


def _rows(utterance: Utterance, reply: InteractionReply | None) -> list[dict[str, Any]]:
    """Return the buttons: of an approval, or thumbs up and down below an awaited answer.

    A question can be approved beside it only if it shows the whole call; else it can be opened.
    """
    if utterance.approval is not None:
        name = f"oc:ap:{utterance.approval}"
        shown = hash_shown_in_approval(utterance.text)
        buttons = [
            _button(_localized_text("approve", reply, " / "), f"{name}:y:{shown}", _GREEN)
            if shown and _units(utterance.text) <= LIMIT
            else _button(_localized_text("open", reply, " / "), f"{name}:s", _PLAIN),
            _button(_localized_text("reject", reply, " / "), f"{name}:n", _RED),
        ]
    elif utterance.closes and utterance.channel.awaited and reply is not None:
        name = f"oc:fb:{utterance.turn_id}"
        buttons = [_button("👍", f"{name}:u", _PLAIN), _button("👎", f"{name}:d", _PLAIN)]
    else:
        return []
    return [{"type": 1, "components": buttons}]


def _button(label: str, custom_id: str, style: int) -> dict[str, Any]:
    return {"type": 2, "style": style, "label": label, "custom_id": custom_id}


def _localized_text(key: str, reply: InteractionReply | None, between: str) -> str:
    """Return a text in the language of the interaction, or in all languages without one."""
    languages = tuple(Language) if reply is None else (reply.language,)
    return between.join(_WORDS[key][language] for language in languages)


def _standing(shown: Panel, language: Language) -> str:
    return _WORDS[shown.standing][language] if shown.standing in _WORDS else "…"


def _render_task_list(rows: tuple[PanelRow, ...], language: Language, room: int) -> str:
    """Render as many tasks as fit, one per line, and the number of those left out."""
    told, more = "", _WORDS["more"][language]
    for place, row in enumerate(rows):
        line = f"\n{_MARKS.get(row.status, '•')} {row.label} {_line(row.name, _NAME)}"
        left = f"\n{more.format(count=len(rows) - place)}"
        if _units(told + line) > room - len(left):
            return told + left
        told += line
    return told


def _line(text: str, most: int) -> str:
    """Escape a text for one line: no Markdown, links, mentions or bidirectional controls."""
    return _MARKED.sub(r"\\\1", _cut(" ".join(_UNSEEN.sub("", text).split()), most))


def _cut(text: str, most: int) -> str:
    return text if _units(text) <= most else f"{split_text_to_limit(text, most - 1)[0]}…"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
