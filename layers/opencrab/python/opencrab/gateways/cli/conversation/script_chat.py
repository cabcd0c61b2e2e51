"""Speaking: one message and its answers for a script."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opencrab.gateways.cli.terminal.exchange import Exchange, check_message_text, reply_timeout
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.gateways.cli.conversation.attachments import Attachments


class ScriptSpeaker:
    """A chat for piped input in one session, which is opened with the first message."""

    def __init__(
        self,
        terminal: Terminal,
        place: Callable[[], str],
        name: str | None,
        attachments: "Attachments | None" = None,
    ) -> None:
        self._terminal = terminal
        self._attachments = attachments
        self._place = place
        self._name = name
        self._patience = reply_timeout(terminal, terminal.print_complaint)
        self._session_id = ""

    def say(self, text: str) -> bool:
        """Send a message and print its replies; returns False if a turn ended without an answer."""
        text = check_message_text(self._terminal, text)
        self._session_id = self._session_id or self._place()
        # They go with the first message.
        parts = self._attachments.upload(self._session_id) if self._attachments else ()
        exchange = Exchange(self._terminal.client, self._session_id, text, self._name, parts)
        waiting = self._hear(exchange)
        if self._terminal.options.json:
            self._terminal.json(exchange.report())
        for turn in waiting:
            self._terminal.print_note("how_to_decide", id=turn["id"])
        return not exchange.ended_without_answer()

    def _hear(self, exchange: Exchange) -> tuple[dict[str, Any], ...]:
        """Print replies until no more come; return the turns that wait for approval."""
        while True:
            for reply in self._patience.ask(exchange):
                if not self._terminal.options.json:
                    name = f"{reply['agent_name']}: " if len(exchange.turn_ids) > 1 else ""
                    self._terminal.line(f"{name}{reply['text']}")
            waiting = exchange.waits_for_approval() if exchange.pending else ()
            if waiting or not exchange.pending:
                return waiting
