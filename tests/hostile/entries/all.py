"""The entries that runs of `make hostile` have, all at once."""

from collections.abc import Callable

from tests.hostile.entries.bundles import Bundles
from tests.hostile.entries.chats import Chats
from tests.hostile.entries.clients import Clients
from tests.hostile.entries.email.mails import Mails
from tests.hostile.entries.tools import Tools
from tests.hostile.entries.webhooks import Webhooks
from tests.hostile.entry import Entry
from tests.hostile.world import World

ENTRIES_OF_RUNS: tuple[Callable[[World], Entry], ...] = (
    Webhooks, Tools, Chats, Bundles, Clients, Mails,
)  # fmt: skip
