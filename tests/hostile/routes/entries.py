"""Ways in that are no argument of an action: names of files, links, a killed write, a nickname."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import hikari

from opencrab.domain.discord.community import Community, Presence, Spot
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import MEMORY, Memory, Provenance
from opencrab.engine.discord.ambient_messages import ReceivedMessage, answer_ambient_discord_message
from opencrab.engine.discord.presence import set_agent_discord_presence
from opencrab.gateways.discord_relay.reading import message_for_discord_relay
from opencrab.gateways.rest.workspace.workspace import write_file
from opencrab.ports.workspace.files import Files
from tests.crash.outside import Reply
from tests.crash.scheduling import Killed
from tests.e2e.house import START
from tests.hostile.routes.fields import Field
from tests.hostile.routes.rooms import MEETING, Rooms

NOTE = f"---\naliases: [{MEETING}]\n---\nwords\n"
READ_FIRST = Reply(calls=(("ws_read", {"path": "foreign.md"}),))
HARBOUR = (
    "The harbour of Kanazawa opens at six in the morning each day and the crab boats leave soon "
    "after the bell rings"
)
BOT, OWNER, STRANGER = "1000", "700", "666"
_DISCORD_EPOCH_MS = 1_420_070_400_000


def _uploads(rooms: Rooms, folder: str) -> None:
    """Somebody uploads a file that a stranger has named."""
    write_file(
        api=cast(Any, SimpleNamespace(runtime=rooms.house.runtime)),
        _caller=cast(Any, None),
        agent_id="crab",
        path=f"{folder}/{rooms.word}.md",
        content=NOTE.encode(),
    )


def _lies_on_the_disk(rooms: Rooms) -> None:
    rooms.house.home.files.write("crab", f"inbox/{rooms.word}.md", NOTE.encode())


def _calls(rooms: Rooms, name: str, **arguments: Any) -> None:
    """A turn that has read foreign words makes this call."""
    rooms.say(rooms.session("crab"), (READ_FIRST, Reply(calls=((name, arguments),)), Reply("ok")))


def _names_a_note(rooms: Rooms) -> None:
    _calls(rooms, "create_note", title=rooms.word, content=NOTE)


@dataclass
class _Dying:
    """Files of which each write kills its worker: the first one after it is stored."""

    files: Files
    writes: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    def write(self, *place: Any, **how: Any) -> Any:
        self.writes += 1
        if self.writes == 1:
            self.files.write(*place, **how)
        raise Killed("in the middle of a write")


def _is_killed_while_it_writes(rooms: Rooms) -> None:
    """The turn is given up after some deaths, so nobody ends its write."""
    house, whole = rooms.house, rooms.house.runtime
    dying = cast(Files, _Dying(whole.home.files))
    house.runtime = replace(whole, home=replace(whole.home, files=dying))
    with suppress(Killed):
        _calls(rooms, "ws_write", path=f"inbox/{rooms.word}.md", content="x")
    turn = rooms.newest[-1].id
    for _ in range(12):
        with suppress(Killed):
            house.later(400)
        if house.turn(turn).status.is_end:
            break
    assert house.turn(turn).status.is_end
    house.runtime = whole


def _adds_to_an_imported_memory(rooms: Rooms) -> None:
    """An owner has vouched for an archive, and a stranger says nearly the same."""
    kept = Memory(
        id="imported",
        category="core",
        content=HARBOUR,
        provenance=Provenance.IMPORT,
        created_at=START,
        updated_at=START,
    )
    rooms.house.home.facts.commit(new_fact("crab", MEMORY, kept.id, kept))
    _calls(rooms, "save_memory", category="fact", content=f"{HARBOUR} {rooms.word}")
    stored = rooms.house.home.facts.get("crab", MEMORY, kept.id)
    assert stored is not None
    after = stored.read(Memory)
    assert after.tainted or rooms.word not in after.content, "a trusted memory took the word"


def _is_mentioned_on_discord(rooms: Rooms) -> None:
    """An owner mentions a stranger, who has chosen a nickname."""
    house = rooms.house
    house.runtime = replace(
        house.runtime,
        community=Community(owner_ids=(OWNER,)),
        channels={**house.runtime.channels, "discord": house.wall},
    )
    spots = (Spot(channel_id="555", mentions_only=False),)
    set_agent_discord_presence(house.runtime.home, Presence(agent_id="crab", spots=spots))
    at = int(house.clock.now().timestamp() * 1000) - _DISCORD_EPOCH_MS
    said = SimpleNamespace(
        id=at << 22,
        channel_id=555,
        guild_id=42,
        member=None,
        author=_user(OWNER, "Owner"),
        webhook_id=None,
        type=hikari.MessageType.DEFAULT,
        user_mentions_ids=(int(STRANGER),),
        user_mentions={int(STRANGER): _user(STRANGER, rooms.word)},
        content=f"What did <@{STRANGER}> want?",
        message_reference=None,
        attachments=(),
    )
    relayed = message_for_discord_relay(cast(hikari.Message, said), BOT)
    assert relayed is not None
    house.scripts["crab"] = (Reply("ok"),)
    received = ReceivedMessage.model_validate(relayed.body)
    assert answer_ambient_discord_message(house.runtime, received, own_ids=frozenset({BOT})).turns
    rooms.settle()


def _user(user_id: str, name: str) -> SimpleNamespace:
    return SimpleNamespace(
        id=int(user_id), nickname=name, global_name=None, username="u", is_bot=False, role_ids=()
    )


ENTRIES: dict[Field, Callable[[Rooms], None]] = {
    Field("upload", "inbox", ("name",)): lambda rooms: _uploads(rooms, "inbox"),
    Field("upload", "vault", ("name",)): lambda rooms: _uploads(rooms, "vault"),
    Field("upload", "templates", ("name",)): lambda rooms: _uploads(rooms, "vault/templates"),
    Field("disk", "inbox", ("name",)): _lies_on_the_disk,
    Field("note", "with an alias", ("title",)): _names_a_note,
    Field("killed", "ws_write", ("path",)): _is_killed_while_it_writes,
    Field("merge", "save_memory", ("content",)): _adds_to_an_imported_memory,
    Field("discord", "mention", ("nickname",)): _is_mentioned_on_discord,
}
"""Each way in with what happens there; the word is looked for in every prompt, its own included."""
