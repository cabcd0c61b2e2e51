"""What a home tells of its changes, whether it is asked or tells functions of their own."""

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from opencrab.adapters.dynamodb.stream import dynamodb_stream_entries
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.home import Home
from tests.aws import REGION


def told(home: Home) -> list[FeedEntry]:
    """Everything that was told so far, in order."""
    if home.feed is not None:
        return list(home.feed.read(after=0, limit=1_000))
    return _streamed(home.journal._table.name)  # type: ignore[attr-defined]  # the one on AWS


def feed_of(home: Home) -> ChangeFeed:
    """The feed of a home that can be followed from where one stands."""
    assert home.feed is not None
    return home.feed


def _streamed(table: str) -> list[FeedEntry]:
    """The stream as a function gets it: moto keeps its records and does not serve them.

    The table in memory tells nothing.
    """
    backend = get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION]
    if table not in backend.tables:
        return []
    shard = backend.tables[table].stream_shard
    assert shard is not None
    return list(dynamodb_stream_entries(record.to_json() for record in shard.items))
