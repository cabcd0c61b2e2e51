"""Polling of chat services in the process of a server on the owner's computer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.ports.conversation.chat_link import BotLink
    from opencrab.settings import Settings

_TELEGRAM = "telegram"
_LAST_SECONDS = 1.0


@contextmanager
def polled_chats(
    configured: "Settings", runtime: "Runtime", wake: Callable[[], None]
) -> Iterator[None]:
    """Ask Telegram for messages in a thread, if that is switched on; `wake` when one came."""
    chat, queue = runtime.chats.get(_TELEGRAM), runtime.home.interactions
    if chat is None or queue is None or not configured.get("gateway.telegram.polling"):
        yield
        return
    from opencrab.gateways.door.telegram_polling import poll_telegram_updates

    over = Event()

    def send(body: str, *, group: str, deduplication: str) -> None:
        queue.send(body, group=group, deduplication=deduplication)
        wake()

    def poll() -> None:
        link = cast("BotLink", chat.link)
        poll_telegram_updates(link, send, stopping=over.is_set, pause=over.wait)

    thread = Thread(target=poll, name="telegram", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_LAST_SECONDS)
