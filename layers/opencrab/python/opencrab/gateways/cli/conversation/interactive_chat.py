"""Dialogue: a conversation with a person at the terminal, with commands that begin with a slash."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.gateways.cli.conversation.attachments import Attachments, files_dropped_into_chat
from opencrab.gateways.cli.conversation.completion import (
    complete_chat_lines_with_tab,
    possible_lines_in_chat,
)
from opencrab.gateways.cli.conversation.last_session import (
    describe_last_conversation,
    find_last_session,
)
from opencrab.gateways.cli.conversation.live_answer import LiveAnswer
from opencrab.gateways.cli.conversation.open_exchange import (
    OpenExchange,
    TerminalClosed,
    end_chat_on_hangup,
)
from opencrab.gateways.cli.conversation.sessions import read_session_lines
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.approval_call import print_turn_call_on_terminal
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.exchange import (
    WAIT_SECONDS,
    Exchange,
    clean_message_from_terminal,
    retry_policy_shown_on_terminal,
)
from opencrab.gateways.cli.terminal.input import (
    ask_yes_or_no_on_terminal,
    hide_terminal_typing,
    read_terminal_text,
    terminal_line_editing,
)
from opencrab.gateways.cli.terminal.lines import (
    draw_answered_line_on_terminal,
    draw_session_line_on_terminal,
    draw_speech_on_terminal,
)
from opencrab.gateways.cli.terminal.lookup import (
    AgentView,
    find_agent_for_terminal,
    living_agents_for_terminal,
    open_session_from_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

GLANCE_SECONDS = 2
"""How often an owner sees what an agent does in between."""

_BETWEEN = "action,inner_voice"
_SHOWN_BEFORE = 6
_SHOWN_ON_REQUEST = 30


class DialogueLeft(Exception):
    """The user leaves the dialogue."""


class Dialogue:
    """A conversation in the terminal with a session's agents, until the user leaves."""

    def __init__(
        self,
        terminal: Terminal,
        agent: AgentView | None,
        session_id: str | None,
        speaker: str | None,
        attachments: Attachments | None,
    ) -> None:
        self._terminal = terminal
        self._attachments = attachments or Attachments(terminal)
        self._words = terminal.words
        self._speaker = speaker
        self._patience = retry_policy_shown_on_terminal(terminal, self._dim)
        self._exchange: Exchange | None = None
        state = terminal.options.state or Path("~/.local/state").expanduser()
        self._state_folder = state / "opencrab"
        self._left = OpenExchange(terminal, self._state_folder / "chat_left.json")
        self._seen = 0
        self._private = True
        client = terminal.client
        found = client.get("sessions", session_id) if session_id else None
        if agent is None and found is not None:
            agent = client.get("agents", found["participants"][0]["agent_id"])
        assert agent is not None  # noqa: S101 - an agent or a session is always there
        self._agent = agent
        self._continued = found is not None
        self._session = found or open_session_from_terminal(terminal, agent)
        self._answer = LiveAnswer(terminal, self._session["id"])
        self._commands: dict[str, Callable[[], None]] = {
            "help": self._help,
            "state": self._state,
            "stop": self._stop,
            "retry": self._retry,
            "new": self._new,
            "attach": self._list_attached,
            "history": self._history,
            "quit": self._quit,
            "exit": self._quit,
        }
        self._with_argument: dict[str, Callable[[str], None]] = {
            "attach": self._attach,
            "agent": self._change_agent,
        }

    def run(self) -> None:
        """Talk until `/quit`, the end of input, two interruptions, or the end of the terminal."""
        try:
            with end_chat_on_hangup():
                self._run()
        except TerminalClosed:
            pass
        except OSError as error:
            if error.errno != errno.EIO:
                raise
        else:
            return
        # Its turns go on; nobody reads what would be written.
        self._answer.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._terminal.out.fileno())
        raise typer.Exit(ExitCode.TERMINAL_CLOSED)

    def _run(self) -> None:
        self._greet()
        if self._attachments.names:
            self._list_attached()
        editing = terminal_line_editing(self._state_folder / "chat_history")
        with editing, complete_chat_lines_with_tab(self._complete):
            try:
                self._resume()
                self._talk()
            except (EOFError, KeyboardInterrupt, DialogueLeft):
                self._terminal.line()
        self._answer.close()
        self._dim(self._words("bye", id=self._session["id"]))

    def _resume(self) -> None:
        """Wait for the answer that was on its way when this conversation was left."""
        left = self._left.of_session(self._session["id"]) if self._continued else None
        if left is None:
            return
        try:
            left.ask(wait=0)
            self._left.note(left)
            if left.pending:
                left.replies.clear()
                self._exchange = left
                self._dim(self._words("still_answering", name=self._agent["name"]))
                self._answer.begin()
                self._follow(left)
        except OpenCrabError as error:
            print_cli_error(self._terminal, error)

    def _talk(self) -> None:
        interrupted = False
        while True:
            try:
                text = read_terminal_text(input, self._words("you"), "… ")
            except KeyboardInterrupt:
                self._terminal.line()
                if interrupted:
                    raise DialogueLeft from None
                interrupted = True
                self._dim(self._words("interrupt_again"))
                continue
            interrupted = False
            try:
                self._take(text)
            except OpenCrabError as error:
                print_cli_error(self._terminal, error)
                if isinstance(error, Unavailable):
                    self._dim(self._words("retry"))

    def _take(self, text: str) -> None:
        word = text.strip()
        if self._obeys(word):
            return
        if files_dropped_into_chat(word):
            self._attach(word)
        elif word.startswith("/") and not word.startswith("//") and "\n" not in word:
            self._dim(self._words("unknown_command", command=word))
        elif word:
            self._say(text.replace("//", "/", 1) if word.startswith("//") else text)

    def _obeys(self, word: str) -> bool:
        """Run the command that a line is; False if it is none."""
        if not word.startswith("/") or "\n" in word:
            return False
        name, _, argument = word[1:].partition(" ")
        run = self._with_argument.get(name.casefold())
        if argument.strip() and run is not None:
            run(argument.strip())
            return True
        command = self._commands.get(word[1:].casefold())
        if command is not None:
            command()
        return command is not None

    def _complete(self, line: str) -> list[str]:
        names = sorted({*self._commands, *self._with_argument})
        agents = lambda: [each["name"] for each in living_agents_for_terminal(self._terminal)]  # noqa: E731
        return possible_lines_in_chat(line, names, agents)

    def _say(self, text: str) -> None:
        said = clean_message_from_terminal(self._terminal, text)
        parts = self._attachments.upload(self._session["id"])
        self._exchange = Exchange(
            self._terminal.client, self._session["id"], said, self._speaker, parts
        )
        self._terminal.line()
        self._answer.begin()
        self._follow(self._exchange)

    def _follow(self, exchange: Exchange) -> None:
        """Wait for all replies; the first interruption stops the turns, the second leaves."""
        interrupted = stop = False
        while True:
            try:
                if stop:
                    exchange.cancel()
                    stop = False
                if not self._wait(exchange):
                    return
            except KeyboardInterrupt:
                if interrupted:
                    raise DialogueLeft from None
                interrupted = stop = True
                self._dim(self._words("stopping"))

    def _wait(self, exchange: Exchange) -> bool:
        """Wait a while and show new replies; returns False when no more will come."""
        waiting = self._words("thinking", name=self._agent["name"])
        with hide_terminal_typing(), self._answer.shown(waiting):
            wait = GLANCE_SECONDS if self._private else WAIT_SECONDS
            new = self._patience.ask(exchange, wait)
            self._left.note(exchange)
            self._answer.expect(exchange.turn_ids)
            between = self._between(exchange)
        for line in sorted([*between, *new], key=lambda line: line["sequence"]):
            self._show(line)
        if not exchange.pending:
            if not exchange.replies:
                self._dim(self._words("silent", name=self._agent["name"]))
                self._terminal.line()
            return False
        return self._decided(exchange.waits_for_approval())

    def _decided(self, turns: tuple[dict[str, Any], ...]) -> bool:
        """Ask about every turn that waits for approval; False if this key may not decide."""
        for turn in turns:
            if not self._private:
                self._dim(self._words("owner_decides"))
                return False
            shown = print_turn_call_on_terminal(self._terminal, turn["id"])
            body: dict[str, object] = {
                "approved": ask_yes_or_no_on_terminal(self._words("may_it"), default=False)
            }
            if shown is not None:
                body["argument_hash"] = shown
            self._terminal.client.post("turns", turn["id"], "decide", body=body)
        return True

    def _between(self, exchange: Exchange) -> list[dict[str, Any]]:
        """Fetch what the exchange's turns did since the last call, if this key may read it."""
        if not self._private:
            return []
        try:
            page = self._terminal.client.get(
                "sessions",
                self._session["id"],
                "messages",
                kinds=_BETWEEN,
                after=self._seen,
                limit=200,
            )
        except Refused:
            self._private = False
            return []
        return [line for line in page["items"] if line["turn_id"] in exchange.turn_ids]

    def _show(self, line: dict[str, Any]) -> None:
        self._seen = max(self._seen, line["sequence"])
        self._answer.forget_actions(line["sequence"])
        if line["kind"] not in {"action", "inner_voice"}:
            self._answer.forget(line["turn_id"])
        session_id = self._session["id"]
        if "agent_name" in line:
            draw_answered_line_on_terminal(self._terminal, session_id, line.get("reply_to"))
            draw_speech_on_terminal(self._terminal, line["agent_name"], line["text"], line["kind"])
        else:
            draw_session_line_on_terminal(self._terminal, line, session_id)

    def _greet(self) -> None:
        names = Text(clean_terminal_text(self._agent["name"]), style="bold cyan")
        if self._agent["purpose"]:
            names.append(f" — {clean_terminal_text(self._agent['purpose'])}", style="dim")
        self._terminal.draw(names)
        if self._continued:
            self._dim(describe_last_conversation(self._terminal, self._session))
        self._dim(self._words("greeting"))
        self._terminal.line()
        if self._continued:
            self._recall(_SHOWN_BEFORE)

    def _recall(self, last: int) -> None:
        lines = read_session_lines(self._terminal, self._session["id"], last)
        for line in lines:
            draw_session_line_on_terminal(self._terminal, line, self._session["id"])
        if lines:
            self._seen = max(self._seen, lines[-1]["sequence"])

    def _help(self) -> None:
        self._terminal.print_sentence("chat_help")

    def _history(self) -> None:
        self._recall(_SHOWN_ON_REQUEST)

    def _quit(self) -> None:
        raise DialogueLeft

    def _new(self) -> None:
        self._enter(open_session_from_terminal(self._terminal, self._agent))
        self._dim(self._words("new_session", id=self._session["id"]))

    def _enter(self, session: dict[str, Any], *, continued: bool = False) -> None:
        self._session, self._continued = session, continued
        self._answer.close()
        self._answer = LiveAnswer(self._terminal, session["id"])
        self._exchange, self._seen = None, 0

    def _change_agent(self, name: str) -> None:
        self._agent = find_agent_for_terminal(self._terminal, name)
        last = find_last_session(self._terminal, self._agent)
        session = last or open_session_from_terminal(self._terminal, self._agent)
        self._enter(session, continued=last is not None)
        self._greet()

    def _attach(self, path: str) -> None:
        for each in files_dropped_into_chat(path) or [path.strip("'\"")]:
            self._attachments.add(each)
        self._list_attached()

    def _list_attached(self) -> None:
        names = ", ".join(self._attachments.names)
        self._dim(self._words("attached", name=names) if names else self._words("attach_usage"))

    def _stop(self) -> None:
        exchange = self._exchange
        if exchange is None or not exchange.pending:
            self._dim(self._words("nothing_to_stop"))
            return
        exchange.cancel()
        self._follow(exchange)

    def _retry(self) -> None:
        if self._exchange is None:
            self._dim(self._words("nothing_to_retry"))
        else:
            self._follow(self._exchange)

    def _dim(self, text: str) -> None:
        self._terminal.print_dim(text)

    def _state(self) -> None:
        words, client = self._words, self._terminal.client
        agent = client.get("agents", self._agent["id"])
        pairs: list[tuple[str, object]] = [
            ("agent", f"{agent['name']} ({agent['id']})"),
            ("status", words.term(agent["status"])),
            ("model", agent["model"] or words("default_model")),
            ("session", self._session["id"]),
            ("server", client.address.url),
        ]
        exchange = self._exchange
        if exchange is not None and exchange.turn_ids:
            turn = client.get("turns", exchange.turn_ids[0])
            status = words.term(turn["status"])
            pairs.append(("turn", f"{turn['id']} ({status})"))
        self._terminal.print_fields(pairs)
