"""Speaking: messages and their answers for a script, with an exit code for each."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.gateways.cli.scripting.exit_code import (
    ExitCode,
    exit_code_of_error,
    exit_code_of_turn,
)
from opencrab.gateways.cli.scripting.standard_input import StandardInput
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.exchange import (
    Exchange,
    clean_message_from_terminal,
    retry_policy_shown_on_terminal,
)
from opencrab.gateways.cli.terminal.input import STDIN
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.gateways.cli.conversation.attachments import Attachments

_SPEECH = "speech"


def chat_text_with_pipe(terminal: Terminal, words: str) -> str:
    """Return the words followed by the text of the pipe, if there is one; `-` is that text alone.

    Raises Invalid if the pipe has no text.
    """
    pipe = _standard_input(terminal)
    if words == STDIN:
        return pipe.read()
    if not words.strip() or not pipe.has_text:
        return words
    piped = pipe.read()
    return f"{words}\n\n{piped}".rstrip("\r\n") if piped.strip() else words


def _standard_input(terminal: Terminal) -> StandardInput:
    return StandardInput(terminal.input, terminal.words, terminal.print_note_text)


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
        self._patience = retry_policy_shown_on_terminal(terminal, terminal.print_note_text)
        self._session_id = ""

    def say(self, text: str) -> ExitCode:
        """Send a message and print its replies; returns what became of its turns."""
        text = clean_message_from_terminal(self._terminal, text)
        self._session_id = self._session_id or self._place()
        # They go with the first message.
        parts = self._attachments.upload(self._session_id) if self._attachments else ()
        exchange = Exchange(self._terminal.client, self._session_id, text, self._name, parts)
        self._hear(exchange)
        if self._terminal.options.json:
            self._terminal.json(exchange.report())
        wrong = [turn["error"] for turn in exchange.outcomes() if turn["error"] is not None]
        for error in wrong:
            self._terminal.print_error(error)
        return exit_code_of_turn(wrong[0] if wrong else None)

    def say_lines(self) -> ExitCode:
        """Say every line of standard input, whatever became of those before it.

        Returns the first exit code that is not 0. Raises Invalid if there is nothing to say.
        """
        codes = list(self._codes(_standard_input(self._terminal).lines()))
        if not codes:
            clean_message_from_terminal(self._terminal, "")
        return next((code for code in codes if code is not ExitCode.OK), ExitCode.OK)

    def _codes(self, lines: Iterable[str | OpenCrabError]) -> "Iterable[ExitCode]":
        for line in lines:
            try:
                if isinstance(line, OpenCrabError):
                    raise line
                if line.strip():
                    yield self.say(line)
            except Invalid as error:
                print_cli_error(self._terminal, error)
                yield exit_code_of_error(error)

    def _hear(self, exchange: Exchange) -> None:
        """Print what agents say until no more comes, or all turns wait for approval."""
        while True:
            for reply in self._patience.ask(exchange):
                if not self._terminal.options.json and reply["kind"] == _SPEECH:
                    name = f"{reply['agent_name']}: " if len(exchange.turn_ids) > 1 else ""
                    self._terminal.line(f"{name}{reply['text']}")
            if not exchange.pending or exchange.waits_for_approval():
                self._print_notices(exchange)
                return

    def _print_notices(self, exchange: Exchange) -> None:
        """Print what OpenCrab said beside an answer, which is no error."""
        if self._terminal.options.json:
            return
        failed = {turn["id"] for turn in exchange.outcomes() if turn["error"] is not None}
        for reply in exchange.replies:
            if reply["kind"] != _SPEECH and reply["turn_id"] not in failed:
                self._terminal.print_note_text(reply["text"])
