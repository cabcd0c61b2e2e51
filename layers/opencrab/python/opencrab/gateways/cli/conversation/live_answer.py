"""An answer while it arrives: its last lines are drawn in place until all of it is drawn for good.

A thread follows the session's events from the first wait on. What it shows is news only: where the
server tells none, as on AWS, a spinner says that somebody thinks, and nothing is lost.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.gateways.cli.conversation.reflowing_live import ReflowingLive
from opencrab.gateways.cli.terminal.lines import terminal_action_row
from opencrab.gateways.cli.terminal.tables import indent_terminal_text, render_markdown_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

AGAIN_SECONDS = 1.0
FRAMES_PER_SECOND = 12
_KINDS: str | None = "speech,system,approval,action"
_ACTIONS = 5
"""The most actions that are shown before they are drawn for good."""

_MARGIN = 4
"""Rows of the window that are left for the spinner and what was said before."""


class LiveAnswer:
    """The answers in one session that are still arriving, by turn."""

    def __init__(self, terminal: Terminal, session_id: str) -> None:
        self._terminal = terminal
        self._session_id = session_id
        self._lock = threading.Lock()
        self._turns: tuple[str, ...] = ()
        self._texts = dict[tuple[str, int], str]()
        self._actions = dict[int, dict[str, Any]]()
        self._drawn = set[str]()
        self._live: Live | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Forget what was said before, as another message is sent."""
        with self._lock:
            self._texts, self._drawn, self._turns, self._actions = {}, set(), (), {}

    @contextmanager
    def shown(self, waiting: str) -> Iterator[None]:
        """Draw what arrives above a spinner within the block, and remove it afterwards."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, name="live answer", daemon=True)
            self._thread.start()
        spinner = Spinner("dots", Text(clean_terminal_text(waiting), style="dim"))
        with ReflowingLive(
            console=self._terminal.console,
            get_renderable=lambda: self._words_and(spinner),
            refresh_per_second=FRAMES_PER_SECOND,
            transient=True,
        ) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def forget(self, turn_id: str) -> None:
        """Show a turn's words no longer, since the line that has them was drawn."""
        with self._lock:
            self._drawn.add(turn_id)
            self._texts = {call: text for call, text in self._texts.items() if call[0] != turn_id}

    def forget_actions(self, sequence: int) -> None:
        """Show no longer the actions up to this line, since they were drawn."""
        with self._lock:
            later = {place: each for place, each in self._actions.items() if place > sequence}
            self._actions = later

    def expect(self, turn_ids: tuple[str, ...]) -> None:
        """Show only the words of these turns; before they are known, those of all."""
        self._turns = turn_ids

    def close(self) -> None:
        """Follow no longer; the thread ends with the next event."""
        self._closed.set()

    def _words_and(self, spinner: Spinner) -> RenderableType:
        """Return the last lines of the words, as many as the window holds, above the spinner."""
        wanted = self._turns
        with self._lock:
            said = [text for (turn, _), text in self._texts.items() if not wanted or turn in wanted]
            done = [line for line in self._actions.values() if line["turn_id"] in wanted]
        actions = [terminal_action_row(line) for line in done[-_ACTIONS:]]
        text = "\n".join(each.strip() for each in said)
        if not text:
            return Group(*actions, spinner)
        console = self._terminal.console
        lines = render_markdown_for_terminal(text).wrap(console, max(console.width - 2, 1))
        rows = max(console.height - _MARGIN - len(actions), 1)
        return Group(*actions, indent_terminal_text(Text("\n").join(lines[-rows:])), spinner)

    def _follow(self) -> None:
        place, kinds = ("sessions", self._session_id, "events"), _KINDS
        while not self._closed.is_set():
            try:
                for _, event in self._terminal.client.events(*place, kinds=kinds):
                    if self._closed.is_set():
                        return
                    self._take(event)
            except Refused:
                if kinds is None:
                    return
                # Only owners see what agents do.
                kinds = None
                continue
            except Unavailable:
                self._closed.wait(AGAIN_SECONDS)
                continue
            except OpenCrabError:
                pass
            # A server that ends the stream by itself, as on AWS, tells no words.
            return

    def _take(self, event: dict[str, Any]) -> None:
        """Show what is news: the next words of an answer, or an action."""
        if "starts_over" in event:
            self._add_words(event)
        elif event.get("kind") == "action":
            with self._lock:
                self._actions[event["sequence"]] = event
        else:
            return
        live = self._live
        if live is not None:
            live.refresh()

    def _add_words(self, part: dict[str, Any]) -> None:
        call = (part["turn_id"], part.get("call", 0))
        with self._lock:
            if call[0] in self._drawn:
                return
            before = "" if part["starts_over"] else self._texts.get(call, "")
            self._texts[call] = before + part["text"]
