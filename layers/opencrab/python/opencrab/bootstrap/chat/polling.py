"""Polling of chat services in the process of a server on the owner's computer."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from opencrab.adapters.email.link import EmailLink
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.door.door import SendEvent
    from opencrab.ports.conversation.chat_link import BotLink
    from opencrab.settings import Settings

_TELEGRAM, _EMAIL = "telegram", "email"
_LAST_SECONDS = 1.0

log = logging.getLogger(__name__)


@contextmanager
def polled_chats(
    configured: "Settings", runtime: "Runtime", wake: Callable[[], None]
) -> Iterator[None]:
    """Ask Telegram and the mail server in threads, as far as they are on; `wake` if one told."""
    queue = runtime.home.interactions
    if queue is None:
        yield
        return
    over = Event()

    def send(body: str, *, group: str, deduplication: str) -> None:
        queue.send(body, group=group, deduplication=deduplication)
        wake()

    polls = dict[str, Callable[[], None]]()
    if _TELEGRAM in runtime.chats and configured.get("gateway.telegram.polling"):
        polls[_TELEGRAM] = lambda: _poll_telegram(runtime, send, over)
    if _EMAIL in runtime.chats:
        polls[_EMAIL] = lambda: _poll_email(configured, runtime, send, over)
    threads = [Thread(target=poll, name=kind, daemon=True) for kind, poll in polls.items()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(_LAST_SECONDS)


def _poll_telegram(runtime: "Runtime", send: "SendEvent", over: Event) -> None:
    from opencrab.gateways.door.telegram_polling import poll_telegram_updates

    link = cast("BotLink", runtime.chats[_TELEGRAM].link)
    poll_telegram_updates(link, send, stopping=over.is_set, pause=over.wait)


def _poll_email(configured: "Settings", runtime: "Runtime", send: "SendEvent", over: Event) -> None:
    """Read the mailbox; without a way to verify senders leave it as it is."""
    from opencrab.bootstrap.chat.email import mailbox_name_of_settings
    from opencrab.domain.errors import OpenCrabError
    from opencrab.gateways.door.email_polling import EmailReader, poll_mailbox

    link = cast("EmailLink", runtime.chats[_EMAIL].link)
    try:
        mailbox, rules = link.mailbox, link.rules
        if not rules.answers_anybody:
            log.warning("no mail is read: see `opencrab admin email doctor`")
            return
        name = mailbox_name_of_settings(configured)
        reader = EmailReader(name, rules, runtime.home.facts, runtime.clock, send)
        poll_mailbox(mailbox.opened, reader, stopping=over.is_set, pause=over.wait)
    except OpenCrabError as error:
        log.warning("no mail is read: error=%s, cure=%s", error.message, error.cure)
