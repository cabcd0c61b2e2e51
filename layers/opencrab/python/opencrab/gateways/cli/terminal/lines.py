"""Lines: what was said and done in a session, as a person reads it."""

from typing import Any

from rich.padding import Padding
from rich.text import Text

from opencrab.domain.conversation.title import ATTACHED
from opencrab.gateways.cli.terminal.tables import indent_terminal_text, render_markdown_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text, truncate_terminal_line

_ACTION_LENGTH = 200
_ANSWERED_LENGTH = 80


def draw_session_line_on_terminal(
    terminal: Terminal, line: dict[str, Any], session_id: str
) -> None:
    """Draw a line of a session: speech under its speaker's name, other kinds dim and short."""
    kind = line["kind"]
    draw_answered_line_on_terminal(terminal, session_id, line.get("reply_to"))
    if kind == "action":
        draw_action_on_terminal(terminal, line)
    elif kind == "inner_voice":
        terminal.draw(
            indent_terminal_text(render_markdown_for_terminal(f"({line['text']})")),
            style="dim italic",
        )
    else:
        name = line["speaker_name"] if line["text"] else terminal.words.term(line["speaker_name"])
        text = (
            line["text"] if line["from_agent"] else _with_attachment_names(terminal, line["text"])
        )
        _draw_speaker(terminal, name, text, kind, agent=line["from_agent"])
        if kind == "system" and line["from_agent"] and line["turn_id"]:
            turn = terminal.words("line_turn", id=line["turn_id"])
            terminal.draw(indent_terminal_text(Text(clean_terminal_text(turn))), style="dim")
        terminal.line()


def draw_answered_line_on_terminal(
    terminal: Terminal, session_id: str, sequence: int | None
) -> None:
    """Draw, dim and short, the line that the next one replies to; nothing if that is none."""
    if sequence is None:
        return
    found = terminal.client.get("sessions", session_id, "messages", after=sequence - 1, limit=1)
    for line in found["items"]:
        if line["sequence"] == sequence:
            said = f"↪ {line['speaker_name']}: {_with_attachment_names(terminal, line['text'])}"
            terminal.draw(Text(truncate_terminal_line(said, _ANSWERED_LENGTH), style="dim"))


def _with_attachment_names(terminal: Terminal, text: str) -> str:
    """Name a message's attachments as `chat --attach` does, not by their places."""
    return ATTACHED.sub(lambda found: terminal.words("line_attached", name=found[1]), text)


def draw_speech_on_terminal(
    terminal: Terminal, name: str, text: str, kind: str = "speech", *, agent: bool = True
) -> None:
    """Draw a speaker's name and their text; notices of OpenCrab are yellow."""
    _draw_speaker(terminal, name, text, kind, agent=agent)
    terminal.line()


def _draw_speaker(terminal: Terminal, name: str, text: str, kind: str, *, agent: bool) -> None:
    terminal.draw(Text(clean_terminal_text(name), style="bold cyan" if agent else "bold"))
    terminal.draw(
        indent_terminal_text(render_markdown_for_terminal(text)),
        style=None if kind == "speech" else "yellow",
    )


def draw_action_on_terminal(terminal: Terminal, line: dict[str, Any]) -> None:
    """Draw an action of an agent in one dim line."""
    terminal.draw(terminal_action_row(line))


def terminal_action_row(line: dict[str, Any]) -> Padding:
    """Return an action of an agent in one dim line, in words if the server says them."""
    data = line.get("data") or {}
    done, said = data.get("state") == "completed", line.get("summary")
    text = f"{'✓' if done else '✗'} {said or data.get('name', line['text'])}"
    if not said:
        text += f" {data.get('arguments', '')}"
    if not (said and done):
        text += f" → {data.get('result', '')}"
    row = Text(
        truncate_terminal_line(text, _ACTION_LENGTH), "dim", no_wrap=True, overflow="ellipsis"
    )
    return indent_terminal_text(row)
