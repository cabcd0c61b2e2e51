"""Watching a session: its live events, as people read them or as JSON Lines, until Ctrl-C.

A lost connection is taken up again after the last line that was seen, so that none is missing.
"""

from collections.abc import Iterator
from typing import Any

from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.terminal.exchange import TRIES
from opencrab.gateways.cli.terminal.lines import (
    draw_action_on_terminal,
    draw_answered_line_on_terminal,
    draw_speech_on_terminal,
)
from opencrab.gateways.cli.terminal.tables import indent_terminal_text, render_markdown_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

AGAIN_SECONDS = 1.0
PRIVATE = "speech,system,approval,inner_voice,action"

Event = dict[str, Any]


def watch_insight_of_session(
    terminal: Terminal, session_id: str, *, thoughts: bool, after: int | None
) -> None:
    """Show what happens in a session until the user leaves."""
    session = terminal.client.get("sessions", session_id)
    told = insight_events_of_session(terminal, session_id, thoughts=thoughts, after=after)
    try:
        if terminal.options.json or not terminal.out.isatty():
            for event in told:
                terminal.json(event)
            return
        name = session["name"] or session["theme"] or session_id
        terminal.print_dim(terminal.words("watch_title", name=name))
        teller = EventPrinter(terminal)
        for event in told:
            teller.tell(event)
    except KeyboardInterrupt:
        return


def insight_events_of_session(
    terminal: Terminal, session_id: str, *, thoughts: bool = False, after: int | None = None
) -> Iterator[Event]:
    """Stream a session's events, each once, as long as the server can be reached."""
    place = ("sessions", session_id, "events")
    last = str(_newest(terminal, session_id) if after is None else after)
    query = {"format": "agui", "kinds": PRIVATE if thoughts else None}
    pause, failures = terminal.pause, 0
    while True:
        try:
            for event_id, event in terminal.client.events(*place, last=last, **query):
                last, failures = event_id or last, 0
                yield event
        except Unavailable:
            failures += 1
            if failures >= TRIES:
                raise
        pause(max(AGAIN_SECONDS, terminal.client.retry_seconds))


def _newest(terminal: Terminal, session_id: str) -> int:
    found = terminal.client.get("sessions", session_id, "messages", order="newest", limit=1)
    return max((int(line["sequence"]) for line in found["items"]), default=0)


class EventPrinter:
    """A printer of events, which prints a line when all of it has arrived."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._pieces: list[Event] = []

    def tell(self, event: Event) -> None:
        """Draw an event, or keep it until the rest of its line has arrived."""
        kind, metadata = event["type"], event.get("metadata", {})
        if kind == "RUN_ERROR":
            self._terminal.draw(
                indent_terminal_text(render_markdown_for_terminal(event["message"])), style="yellow"
            )
            return
        if kind == "CUSTOM" and event["name"] == "gap":
            self._terminal.print_dim(self._terminal.words("watch_gap", **event["value"]))
            return
        if kind == "CUSTOM" and event["name"] == "progress":
            self._progress(event["value"])
            return
        if kind.startswith("RUN_"):
            return
        self._pieces.append(event)
        if "sequence" in metadata:
            pieces, self._pieces = self._pieces, []
            self._line(pieces, metadata)

    def _progress(self, value: Event) -> None:
        """Say how far a running call has come; `total` and the server's words may be missing."""
        total, said = value.get("total"), value.get("text", "")
        done = "/".join(_number(each) for each in (value["progress"], total) if each is not None)
        words = f"{done} {said}".rstrip()
        self._terminal.print_dim(
            self._terminal.words("watch_progress", action=value["toolCallName"], words=words)
        )

    def _line(self, pieces: list[Event], metadata: Event) -> None:
        kind, name = metadata["kind"], metadata["speakerName"]
        if kind == "action":
            draw_action_on_terminal(self._terminal, _action(pieces, metadata))
        elif kind == "inner_voice":
            text = _join_deltas(pieces)
            self._terminal.draw(
                indent_terminal_text(render_markdown_for_terminal(f"({name}: {text})")),
                style="dim italic",
            )
        else:
            agent = bool(metadata["fromAgent"])
            answered = metadata.get("replyTo")
            draw_answered_line_on_terminal(self._terminal, metadata["threadId"], answered)
            draw_speech_on_terminal(self._terminal, name, _join_deltas(pieces), kind, agent=agent)


def _number(value: float) -> str:
    """Return a number as people write it, also one of millions of bytes."""
    return f"{round(value, 2):.15g}"


def _join_deltas(pieces: list[Event]) -> str:
    return "".join(
        piece["value"]["text"] if piece["type"] == "CUSTOM" else piece.get("delta", "")
        for piece in pieces
    )


def _action(pieces: list[Event], metadata: Event) -> Event:
    """Join the pieces of a tool call into a line of the session."""
    arguments = "".join(piece["delta"] for piece in pieces if piece["type"] == "TOOL_CALL_ARGS")
    found = {"name": "", "arguments": arguments, "result": "", "state": metadata.get("state")}
    for piece in pieces:
        found["name"] = piece.get("toolCallName", found["name"])
        found["result"] = piece.get("content", found["result"])
    return {"data": found, "text": ""}
