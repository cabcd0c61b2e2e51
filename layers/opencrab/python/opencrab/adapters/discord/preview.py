"""Preview: the answer to an interaction, edited while the model writes it.

It is written into the interaction's first answer, which the delivery edits too, so that there is
one message whatever happens in between.
"""

from collections.abc import Callable
from threading import Thread
from typing import Protocol

from opencrab.adapters.discord.rendering import discord_preview_content, discord_preview_message
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.discord.community import REPLY, InteractionReply, discord_address
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Changed, NeverSent, OpenCrabError
from opencrab.ports.clock import Clock
from opencrab.ports.discord import Discord
from opencrab.ports.documents import Documents

EVERY_MS = 2_000
"""How long after the call's begin the first edit comes, and each further one after the last.

Discord takes five edits in five seconds; the delivered answer needs one of them.
"""


class RunningEdit(Protocol):
    """An edit that was started, as `threading.Thread` is one."""

    def is_alive(self) -> bool:
        """Check whether it has not ended yet."""

    def join(self) -> None:
        """Wait for its end."""


StartEdit = Callable[[Callable[[], None]], RunningEdit]
"""Begins to run a function, and does not wait for its end."""


def _start_thread(run: Callable[[], None]) -> RunningEdit:
    """Run a function in a thread of its own."""
    thread = Thread(target=run, name="discord-preview", daemon=True)
    thread.start()
    return thread


class DiscordPreviews:
    """`ports.conversation.channel.PreviewChannel` for answers to interactions.

    An answer to an ordinary message appears when it is complete: its message has no id before it is
    posted, so a crash could leave one that nobody finds again.
    """

    def __init__(
        self, discord: Discord, facts: Documents, clock: Clock, start: StartEdit = _start_thread
    ) -> None:
        self._discord = discord
        self._facts = facts
        self._clock = clock
        self._start = start

    def preview(self, place: Place, turn_id: str, began_ms: float) -> "DiscordPreview | None":
        _, interaction_id = discord_address(place)
        if interaction_id is None:
            return None
        edits = _ReplyEdits(self._discord, self._facts, self._clock, interaction_id, turn_id)
        return DiscordPreview(edits, self._clock, self._start, began_ms)


class _ReplyEdits:
    """Edits the first answer to an interaction, of which it stores the message's id before."""

    def __init__(
        self,
        discord: Discord,
        facts: Documents,
        clock: Clock,
        interaction_id: str,
        turn_id: str,
    ) -> None:
        self._discord = discord
        self._facts = facts
        self._clock = clock
        self._interaction_id = interaction_id
        self._turn_id = turn_id
        self._reply: InteractionReply | None = None

    def edit(self, content: str) -> bool:
        """Show a content; returns False if nothing more can be shown. Raises as Discord does."""
        reply = self._reply = self._reply or self._found()
        if reply is None or not reply.is_open(self._clock.now()):
            return False
        message = discord_preview_message(content, self._turn_id, reply.language)
        self._discord.update_reply(reply, message)
        return True

    def _found(self) -> InteractionReply | None:
        """Return the reply, with the id by which the bot finds the message after the token's end.

        It is stored before there is anything to see. Who brought the bot along is answered by the
        token only, and an id is of no use.
        """
        fact = self._facts.get(INSTALLATION_FACTS, REPLY, self._interaction_id)
        if fact is None or (fact.expires_at is not None and fact.expires_at <= self._clock.now()):
            return None
        reply = fact.read(InteractionReply)
        if reply.message_id is not None or reply.is_by_token_only:
            return reply
        message_id = self._discord.find_reply(reply)
        if not message_id:
            return None
        known = reply.replaced(message_id=message_id)
        self._facts.commit(fact.with_body(known))
        return known


class DiscordPreview:
    """`ports.conversation.channel.AnswerPreview` of one model call, with one edit at a time.

    Where Discord's limit is near, or an edit is still running, the next one shows more. After an
    edit of which nobody knows what became of it there is no further one.
    """

    def __init__(self, edits: _ReplyEdits, clock: Clock, start: StartEdit, began_ms: float) -> None:
        self._edits = edits
        self._clock = clock
        self._start = start
        self._next_ms = began_ms + EVERY_MS
        self._shown: str | None = None
        self._is_over = False
        self._running: RunningEdit | None = None

    def show(self, text: Callable[[], str]) -> None:
        now_ms = self._clock.monotonic_ms()
        if self._is_over or now_ms < self._next_ms:
            return
        if self._running is not None and self._running.is_alive():
            return
        self._next_ms = now_ms + EVERY_MS
        content = discord_preview_content(text())
        if content != self._shown:
            self._shown = content
            self._running = self._start(lambda: self._edit(content))

    def end(self) -> None:
        self._is_over = True
        if self._running is not None:
            self._running.join()

    def _edit(self, content: str) -> None:
        try:
            self._is_over |= not self._edits.edit(content)
        except (NeverSent, Changed):
            self._shown = None
        except OpenCrabError:
            self._is_over = True
