"""Faces: what people see of how far an instruction is, and of an answer that is being written."""

import re
from typing import Any

from opencrab.domain.text.message_split import LIMIT, first_piece_of_text, split_text_to_limit
from opencrab.domain.value import Language
from opencrab.ports.conversation.channel import Panel, PanelRow
from opencrab.ports.discord import Payload
from opencrab.ports.texts import Texts

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

WORDS = Texts(__file__)
_MARKED = re.compile(r"([\\`*_~|<>#\[\]()@]|(?<=[a-zA-Z]):(?=//)|^[-+](?=\s)|(?<=\d)\.(?=\s))")
_UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


def discord_preview_content(text: str) -> str:
    """Render the words of an answer so far; the hourglass says that more comes.

    What does not fit one message follows when the answer is complete.
    """
    piece = first_piece_of_text(text.strip()[: 2 * LIMIT], LIMIT - len(_WRITING) - 1)
    return f"{piece} {_WRITING}".strip()


def discord_preview_message(content: str, turn_id: str, language: Language) -> Payload:
    """Return a message with the button that stops a turn."""
    button = _button(WORDS["stop"][language], f"{_STOP}{turn_id}", _PLAIN)
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
            WORDS[move][language],
            f"oc:{move}:{shown.agent_id}:{shown.goal}",
            _STYLES.get(move, _PLAIN),
        )
        for move in moves
    ]
    rows = [{"type": 1, "components": buttons}] if buttons else []
    return {"content": "", "embeds": [embed], "components": rows}


def _button(label: str, custom_id: str, style: int) -> dict[str, Any]:
    return {"type": 2, "style": style, "label": label, "custom_id": custom_id}


def _standing(shown: Panel, language: Language) -> str:
    return WORDS[shown.standing][language] if shown.standing in WORDS else "…"


def _render_task_list(rows: tuple[PanelRow, ...], language: Language, room: int) -> str:
    """Render as many tasks as fit, one per line, and the number of those left out."""
    told, more = "", WORDS["more"][language]
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
