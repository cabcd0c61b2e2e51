"""Story: a turn from its trigger to its end, as a person reads it."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from opencrab.domain.amounts import format_micro_usd
from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.tables import indent_terminal_text, render_markdown_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text, truncate_terminal_line

_ARGUMENTS = 400
_RESULT = 800
_LINES = 200
_MARKS = {"completed": "✓", "running": "…", "pending": "…", "waiting": "?"}


def print_turn_of_conversation(terminal: Terminal, turn: dict[str, Any]) -> None:
    """Print a whole turn: its trigger, thoughts, tool calls, cost and outcome."""
    lines = _lines(terminal, turn)
    _begin(terminal, turn, lines)
    for step in turn["steps"]:
        _step(terminal, step)
    terminal.line()
    for line in lines:
        if line["turn_id"] == turn["id"] and line["kind"] != "approval":
            terminal.draw(Text(f"» {clean_terminal_text(line['speaker_name'])}", style="bold cyan"))
            terminal.draw(indent_terminal_text(render_markdown_for_terminal(line["text"])))
    _end(terminal, turn, told=any(line["text"] == turn["note"] for line in lines))


def _begin(terminal: Terminal, turn: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    words = terminal.words
    names = {line["speaker_id"]: line["speaker_name"] for line in lines if line["from_agent"]}
    agent = names.get(turn["agent_id"], turn["agent_id"])
    trigger = words(
        "story_trigger",
        trigger=words.term(turn["trigger"]),
        source=turn["source"],
        authority=words.term(turn["authority"]),
        at=format_time_for_terminal(turn["created_at"]),
    )
    terminal.draw(
        Text(clean_terminal_text(words("story_title", agent=agent, id=turn["id"])), style="bold")
    )
    terminal.draw(Text(trigger), style="dim")
    for line in lines:
        if line["message_id"] == turn["message_id"] and not line["from_agent"]:
            terminal.draw(
                indent_terminal_text(
                    render_markdown_for_terminal(f"{line['speaker_name']}: {line['text']}")
                )
            )


def _step(terminal: Terminal, step: dict[str, Any]) -> None:
    thought = step.get("thought") or {}
    details = {
        "judgment": (thought.get("judgment"), "italic"),
        "intent": (thought.get("intent"), "italic"),
        "memory": (step.get("memory_update"), "italic"),
        "error": (step.get("error"), "red"),
        "answer": (step.get("text"), ""),
    }
    terminal.line()
    terminal.draw(Text(" · ".join(_figures(terminal, step)), style="bold"))
    for name, (text, style) in details.items():
        if text:
            _detail(terminal, terminal.words(f"story_{name}"), text, style)
    for call in step["calls"]:
        _call(terminal, call)


def _figures(terminal: Terminal, step: dict[str, Any]) -> Iterator[str]:
    usage = step.get("usage")
    yield terminal.words("story_step", number=step["number"])
    yield clean_terminal_text(step["model"])
    if usage:
        figures = (str(usage[name]) for name in ("input_tokens", "output_tokens"))
        yield terminal.words("story_tokens", tokens="→".join(figures))
    if step.get("latency_ms") is not None:
        yield f"{step['latency_ms']} ms"
    done = step["state"] == "completed"
    yield format_micro_usd(step["cost_micro_usd"]) if done else terminal.words.term(step["state"])


def _call(terminal: Terminal, call: dict[str, Any]) -> None:
    mark = _MARKS.get(call["state"], "✗")
    arguments = _json(call.get("arguments"), _ARGUMENTS)
    terminal.draw(
        indent_terminal_text(
            Text(f"{mark} {clean_terminal_text(call['name'])} {arguments}".rstrip())
        )
    )
    approval = call.get("approval")
    if approval:
        key = {None: "story_asked", True: "story_approved", False: "story_rejected"}
        said = terminal.words(key[approval["approved"]], what=approval["what"])
        _detail(terminal, "  ", f"{said} {approval.get('reason') or ''}".rstrip(), "yellow")
    if call.get("error"):
        _detail(terminal, "  →", call["error"], "red")
    elif call.get("data"):
        _detail(terminal, "  →", _json(call["data"], _RESULT), "dim")
    elif call["state"] not in _MARKS:
        _detail(terminal, "  →", terminal.words.term(call["state"]), "red")


def _end(terminal: Terminal, turn: dict[str, Any], *, told: bool) -> None:
    end = terminal.words(
        "story_end",
        status=terminal.words.term(turn["status"]),
        calls=turn["model_calls"],
        seconds=_seconds(turn),
        money=format_micro_usd(turn["spent_micro_usd"]),
    )
    terminal.draw(Text(end), style="bold")
    stop = turn.get("stop")
    if stop:
        at = format_time_for_terminal(stop["at"])
        if stop["by"] == "@next_message":
            said = terminal.words("story_taken_over", at=at)
        else:
            said = f"{terminal.words('story_stopped', by=stop['by'], at=at)} {stop['reason']}"
        _detail(terminal, "", said.rstrip(), "yellow")
    if turn["note"] and not told and turn["status"] not in {"completed", "idle"}:
        _detail(terminal, "", turn["note"], "yellow")
    if turn["status"] == "waiting":
        terminal.print_sentence("how_to_decide", id=turn["id"])


def _detail(terminal: Terminal, label: str, text: str, style: str) -> None:
    shown = Text(f"{label} " if label.strip() else label, style="dim")
    terminal.draw(
        indent_terminal_text(shown.append_text(Text(clean_terminal_text(text), style=style)))
    )


def _lines(terminal: Terminal, turn: dict[str, Any]) -> list[dict[str, Any]]:
    """Fetch the newest lines of the turn's session; none if this key may not read them."""
    try:
        page = terminal.client.get(
            "sessions", turn["session_id"], "messages", order="newest", limit=_LINES
        )
    except OpenCrabError:
        return []
    return list(page["items"])[::-1]


def _json(value: object, length: int) -> str:
    return (
        "" if not value else truncate_terminal_line(json.dumps(value, ensure_ascii=False), length)
    )


def _seconds(turn: dict[str, Any]) -> str:
    if not turn["ended_at"]:
        return "…"
    begun, ended = (datetime.fromisoformat(turn[name]) for name in ("created_at", "ended_at"))
    return f"{(ended - begun).total_seconds():.1f}"
