"""What the relay brings, in which order, and that nothing is lost over a lost connection."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.discord.community import Presence, Spot, time_of_discord_snowflake
from opencrab.gateways.discord_relay.relay import (
    OLDEST,
    PAGE,
    FetchPage,
    Forward,
    Relay,
    RelayMessage,
    lowest_discord_relay_id_at,
)
from tests.soak import examples

NOW = datetime(2026, 2, 17, 9, tzinfo=UTC)
BOT, HERE, THERE, PRIVATE = "1000", "555", "556", "77"
ALL = Presence(agent_id="mika", spots=(Spot(channel_id=HERE, mentions_only=False),))
NAMED = Presence(agent_id="ken", spots=(Spot(channel_id=THERE),))


def said(
    number: int, channel_id: str = HERE, *, mentions: bool = False, author: str = "700"
) -> RelayMessage:
    message_id = str(int(lowest_discord_relay_id_at(NOW)) + number)
    guild = None if channel_id == PRIVATE else "42"
    return RelayMessage(message_id, channel_id, author, guild, mentions_bot=mentions, body={})


@pytest.fixture
def relay() -> Relay:
    relay = Relay(own_id=BOT)
    relay.update_presences((ALL, NAMED), NOW)
    return relay


def brought(relay: Relay) -> list[RelayMessage]:
    """Everything that is to be brought now."""
    found = list[RelayMessage]()
    while isinstance(job := relay.next(NOW), Forward):
        found.append(job.heard)
        relay.mark_forwarded(job.heard)
    assert job is None
    return found


def test_mentions_private_words_and_channels_that_are_heard_are_brought(relay: Relay) -> None:
    wanted = [
        said(1),
        said(2, THERE, mentions=True),
        said(3, PRIVATE),
        said(4, "999", mentions=True),
    ]
    for heard in (said(0, THERE), *wanted, said(5, "999"), said(6, author=BOT)):
        relay.add_message(heard)
    assert sorted(brought(relay), key=lambda each: each.id) == wanted


def test_a_message_is_offered_until_it_is_taken(relay: Relay) -> None:
    relay.add_message(said(1))
    relay.add_message(said(2))
    assert relay.next(NOW) == relay.next(NOW) == Forward(said(1))
    relay.mark_forwarded(said(1))
    assert relay.next(NOW) == Forward(said(2))


def test_what_was_missed_is_fetched_after_the_last_that_was_brought(relay: Relay) -> None:
    relay.add_message(said(1))
    brought(relay)
    relay.refetch_all()
    jobs = [relay.next(NOW), relay.next(NOW)]
    assert jobs == [FetchPage(HERE, said(1).id), FetchPage(THERE, lowest_discord_relay_id_at(NOW))]
    relay.add_message(said(4))
    relay.add_fetched_page(HERE, [said(3), said(2), said(4)])
    relay.add_fetched_page(THERE, [said(2, THERE), said(3, THERE, mentions=True)])
    assert brought(relay) == [said(2), said(3), said(4), said(3, THERE, mentions=True)]
    assert relay.seen[HERE] == said(4).id


def test_what_comes_during_a_fetch_is_brought_after_it(relay: Relay) -> None:
    relay.refetch_all()
    relay.next(NOW)
    relay.add_message(said(5))
    relay.add_fetched_page(HERE, [said(1)])
    relay.next(NOW)
    relay.mark_forwarded(said(1))
    assert relay.next(NOW) == Forward(said(5))


def test_a_whole_page_is_followed_by_the_next_one(relay: Relay) -> None:
    relay.refetch_all()
    relay.next(NOW)
    relay.add_fetched_page(HERE, [said(n) for n in range(1, PAGE + 1)])
    jobs = []
    while isinstance(job := relay.next(NOW), Forward):
        jobs.append(job.heard)
        relay.mark_forwarded(job.heard)
    assert len(jobs) == PAGE
    assert job == FetchPage(HERE, said(PAGE).id)


def test_a_fetch_that_failed_is_tried_again_and_a_channel_that_is_gone_is_forgotten(
    relay: Relay,
) -> None:
    relay.refetch_all()
    relay.next(NOW)
    relay.retry_fetch(HERE)
    assert relay.next(NOW) == FetchPage(HERE, lowest_discord_relay_id_at(NOW))
    relay.forget_channel(HERE)
    assert HERE not in relay.seen
    relay.next(NOW)
    relay.add_fetched_page(THERE, [])
    assert relay.next(NOW) is None


def test_nothing_older_than_a_day_is_fetched() -> None:
    relay = Relay(seen={HERE: "1"}, own_id=BOT)
    relay.refetch_all()
    job = relay.next(NOW)
    assert isinstance(job, FetchPage)
    assert time_of_discord_snowflake(job.after) == NOW - OLDEST


def test_a_fetch_from_before_a_new_connection_is_passed_over(relay: Relay) -> None:
    relay.refetch_all()
    relay.next(NOW)
    relay.refetch_all()
    relay.add_fetched_page(HERE, [said(1)])
    assert relay.next(NOW) == FetchPage(HERE, lowest_discord_relay_id_at(NOW))


def test_more_than_can_be_held_is_fetched_later() -> None:
    relay = Relay(own_id=BOT, most=3)
    relay.update_presences((ALL,), NOW)
    for number in range(1, 8):
        relay.add_message(said(number))
    for number in range(1, 4):
        assert relay.next(NOW) == Forward(said(number))
        relay.mark_forwarded(said(number))
    assert relay.next(NOW) == FetchPage(HERE, said(3).id)


class Channels:
    """What is really said, of which the relay hears only what the connection brings."""

    def __init__(self) -> None:
        self.relay = Relay(own_id=BOT, most=4)
        self.relay.update_presences((ALL, NAMED), NOW)
        self.log: dict[str, list[RelayMessage]] = {HERE: [], THERE: []}
        self.connected = True
        self.brought: list[RelayMessage] = []
        self.count = 0

    def speak(self, channel_id: str, *, mentions: bool) -> None:
        self.count += 1
        heard = said(self.count, channel_id, mentions=mentions)
        self.log[channel_id].append(heard)
        if self.connected:
            self.relay.add_message(heard)

    def drop(self) -> None:
        self.connected = False

    def reconnect(self) -> None:
        self.connected = True
        self.relay.refetch_all()

    def step(self, *, works: bool = True) -> bool:
        job = self.relay.next(NOW + timedelta(minutes=1))
        if isinstance(job, Forward) and works:
            self.brought.append(job.heard)
            self.relay.mark_forwarded(job.heard)
        elif isinstance(job, FetchPage) and works:
            after = [each for each in self.log[job.channel_id] if int(each.id) > int(job.after)]
            self.relay.add_fetched_page(job.channel_id, after[:PAGE])
        elif isinstance(job, FetchPage):
            self.relay.retry_fetch(job.channel_id)
        return job is not None


events = st.one_of(
    st.tuples(st.just("speak"), st.sampled_from([HERE, THERE]), st.booleans()),
    st.tuples(st.sampled_from(["drop", "reconnect", "step", "fail"])),
)


@settings(max_examples=examples(200))
@given(st.lists(events, max_size=80))
def test_everything_that_concerns_agents_is_brought_in_order_and_once(
    story: list[tuple[str, ...]],
) -> None:
    channels = Channels()
    for what, *rest in story:
        match what:
            case "speak":
                channels.speak(rest[0], mentions=bool(rest[1]))
            case "step":
                channels.step()
            case "fail":
                channels.step(works=False)
            case _:
                getattr(channels, what)()
    channels.reconnect()
    while channels.step():
        pass
    for channel_id, log in channels.log.items():
        wanted = [each for each in log if channels.relay.should_forward(each)]
        assert [each for each in channels.brought if each.channel_id == channel_id] == wanted
