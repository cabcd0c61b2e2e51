"""Fake: a Discord of our own, which people use on one side and a bot on the other.

`with FakeDiscord(clock) as discord` serves the API at `discord.url`; `discord.door` takes what
Discord sends. Times are those of the clock: nothing here waits. Requests that break a rule of
Discord's or of ours are refused and stand in `discord.complaints`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from opencrab.adapters.system_clock import FakeClock
from tests.discord import payloads
from tests.discord.commands import Commands, options_of
from tests.discord.faults import Fault
from tests.discord.payloads import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Asking
from tests.discord.refusals import Refusal
from tests.discord.request import Logged, Request
from tests.discord.routes import apply_answer
from tests.discord.server import Api, Server
from tests.discord.signing import Signer
from tests.discord.state import File, Interaction, Message, Person, Place
from tests.discord.world import World

APPLICATION_ID = "1400000000000000001"
TOKEN = "MTQwMDAwMDAwMDAwMDAwMDAwMQ.fake.token-of-the-bot"
GUILD_ID = "1300000000000000001"

OWNER = Person("1100000000000000001", "海")
MEMBER = Person("1100000000000000002", "Mori", roles=("1200000000000000009",))
STRANGER = Person("1100000000000000003", "stranger")

SERVER_CHANNEL = Place("1500000000000000001", guild_id=GUILD_ID)
OTHER_CHANNEL = Place("1500000000000000002", guild_id=GUILD_ID)
PRIVATE = Place("1500000000000000003", dm=True)
ELSEWHERE = Place("1500000000000000004", guild_id="1300000000000000009", guest=True)

Headers = Mapping[str, str]
Door = Callable[[Headers, bytes], tuple[int, Headers, bytes]]
"""What takes interactions: headers and body to a status, headers and a body."""


class FakeDiscord:
    """Discord itself, for one application."""

    def __init__(self, clock: FakeClock, door: Door | None = None) -> None:
        self.clock = clock
        self.door = door
        self.application_id, self.token = APPLICATION_ID, TOKEN
        self.bot = Person(APPLICATION_ID, "OpenCrab", is_bot=True)
        self.signer = Signer()
        self.world = World(clock, APPLICATION_ID, {TOKEN: self.bot})
        self.world.guilds[GUILD_ID] = "OpenCrab's reef"
        for place in (SERVER_CHANNEL, OTHER_CHANNEL, PRIVATE, ELSEWHERE):
            self.world.places[place.channel_id] = Place(**vars(place))
        self.commands = Commands(self.world, self.public_key, OWNER.id)
        self.api = Api(self.world, self.commands, clock)
        self._server = Server(self.api)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """The setting `gateway.discord.api`."""
        return self._server.url

    @property
    def public_key(self) -> str:
        """The setting `gateway.discord.public_key`."""
        return self.signer.public_key

    @property
    def log(self) -> list[Logged]:
        """All requests, oldest first."""
        return self.api.log

    @property
    def complaints(self) -> list[str]:
        """What was sent that never should be."""
        return self.api.complaints

    def requests(self, part: str = "") -> list[Logged]:
        """The requests whose `METHOD /path` holds this part."""
        return [each for each in self.log if part in each.request.line]

    def fail(self, pattern: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let requests fail: those whose `METHOD /path` fits the pattern."""
        self.api.faults.plan(pattern, fault, skip=skip, times=times)

    def place(self, place: Place) -> Place:
        """A place as this Discord knows it, whose permissions a test may change."""
        return self.world.places.setdefault(place.channel_id, Place(**vars(place)))

    def add_bot(self, token: str, bot: Person) -> None:
        """Another bot, such as an agent's own."""
        self.world.bots[token] = bot

    def shown(self, place: Place, to: Person | None = None) -> list[Message]:
        """What somebody sees in a channel; nobody in particular sees no ephemeral message."""
        person_id = None if to is None else to.id
        return [
            each
            for each in self.world.messages.values()
            if each.channel_id == place.channel_id and not each.deleted
            if each.shown_to in (None, person_id)
        ]

    def say(
        self, text: str, by: Person = OWNER, place: Place = SERVER_CHANNEL, *files: File
    ) -> Message:
        """An ordinary message in a channel."""
        return self.world.say(place, by, text, files)

    def ping(self) -> tuple[int, Any]:
        """Discord's own question whether anybody is at the door."""
        body = json.dumps({"type": 1, "id": self.world.new_id(), "version": 1}).encode()
        assert self.door is not None
        status, _, answer = self.door(self._headers(body), body)
        return status, json.loads(answer) if answer else None

    def command(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        by: Person = OWNER,
        place: Place = SERVER_CHANNEL,
        locale: str = "ja",
    ) -> Interaction:
        """Somebody sends a chat command; `name` holds its subcommand too."""
        given = options or {}
        data = payloads.command(name, given, self._command_id(name, given, place))
        return self.interact(COMMAND, data, Asking(by, place, locale))

    def complete(
        self,
        name: str,
        options: Mapping[str, Any],
        *,
        focused: str,
        by: Person = OWNER,
        place: Place = SERVER_CHANNEL,
        locale: str = "ja",
    ) -> Interaction:
        """Somebody types an option, and Discord asks for choices."""
        command_id = self._command_id(name, options, place, focused=focused)
        data = payloads.command(name, options, command_id, focused=focused)
        return self.interact(AUTOCOMPLETE, data, Asking(by, place, locale))

    def menu(
        self,
        name: str,
        message: Message,
        *,
        by: Person = OWNER,
        place: Place = SERVER_CHANNEL,
        locale: str = "ja",
    ) -> Interaction:
        """Somebody chooses an entry of a message's menu."""
        found = self.commands.named(name, 3, place.guild_id)
        assert found or self.commands.is_empty, f"no menu {name!r} is registered"
        command_id = found["id"] if found else "1600000000000000009"
        data = payloads.menu(name, message, command_id, self.application_id)
        return self.interact(COMMAND, data, Asking(by, place, locale))

    def press(
        self, message: Message, label: str, *, by: Person = OWNER, locale: str = "ja"
    ) -> Interaction:
        """Somebody presses a button, by its label or custom id."""
        button = message.button(label)
        assert not button.get("disabled"), f"{label!r} is disabled"
        return self.press_blindly(message, button["custom_id"], by=by, locale=locale)

    def press_blindly(
        self, message: Message, custom_id: str, *, by: Person = OWNER, locale: str = "ja"
    ) -> Interaction:
        """A press that was on its way when the button was disabled, or that nobody offered."""
        assert message.shown_to in (None, by.id), f"{by.name} does not see it"
        place = self.world.places[message.channel_id]
        data = payloads.component(custom_id)
        return self.interact(COMPONENT, data, Asking(by, place, locale), source=message)

    def submit(
        self, interaction: Interaction, values: Mapping[str, str], *, locale: str = "ja"
    ) -> Interaction:
        """Somebody fills in the modal that an interaction opened."""
        assert interaction.modal is not None, "no modal is open"
        data = payloads.modal(interaction.modal, values)
        asking = Asking(interaction.person, interaction.place, locale)
        return self.interact(MODAL, data, asking, source=interaction.source)

    def interact(
        self,
        kind: int,
        data: Mapping[str, Any],
        asking: Asking,
        *,
        source: Message | None = None,
    ) -> Interaction:
        """Send an interaction to the door, and see what comes back with its answer."""
        interaction_id = self.world.new_id()
        token = f"aW50ZXJhY3Rpb246{interaction_id}"
        ids = (interaction_id, token, self.application_id)
        payload = payloads.body(asking, kind, ids, data)
        if source is not None:
            payload["message"] = source.json(self.application_id)
        place = self.place(asking.place)
        interaction = Interaction(
            interaction_id, token, kind, place, asking.person, payload, self.clock.now()
        )
        interaction.source = source
        interaction.body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        interaction.headers = self._headers(interaction.body)
        self.world.interactions[interaction_id] = interaction
        self.send(interaction)
        return interaction

    def send(self, interaction: Interaction) -> int:
        """Send an interaction, the first time or again; answers the door's status."""
        assert self.door is not None, "discord.door is not set"
        status, _, body = self.door(interaction.headers, interaction.body)
        interaction.status = status
        if status == 200 and body:
            self._take(interaction, body)
        elif status == 202 and body:
            self.complaints.append("the door answers 202 with a body")
        with self.world.lock:
            self.world.settle()
        return status

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        with self.world.lock:
            self.world.settle()

    def _take(self, interaction: Interaction, body: bytes) -> None:
        """What the door answered inline."""
        request = Request("POST", "/", {}, {}, body, json.loads(body))
        try:
            with self.world.lock:
                apply_answer(self.world, interaction, request, inline=True)
        except Refusal as refusal:
            if refusal.complaint is not None:
                self.complaints.append(f"the door's answer: {refusal.complaint}")

    def _headers(self, body: bytes) -> dict[str, str]:
        return self.signer.headers(str(int(self.clock.now().timestamp())), body)

    def _command_id(
        self, name: str, options: Mapping[str, Any], place: Place, *, focused: str | None = None
    ) -> str:
        """The registered command's id; it and its options must exist if any command does."""
        if self.commands.is_empty:
            return "1600000000000000001"
        first, *inner = name.split()
        found = self.commands.named(first, 1, place.guild_id)
        assert found is not None, f"no command {first!r} is registered"
        known = options_of(found, tuple(inner))
        assert known is not None, f"no command {name!r} is registered"
        assert place.context in found.get("contexts", (0, 1, 2)), f"{name} is not offered there"
        assert int(place.guest) in found["integration_types"], f"{name} is not offered there"
        _check_given(name, known, options, focused)
        return str(found["id"])


def _check_given(
    name: str, known: Sequence[Mapping[str, Any]], given: Mapping[str, Any], focused: str | None
) -> None:
    names = {each["name"] for each in known}
    assert set(given) <= names, f"{name} has no options {sorted(set(given) - names)}"
    if focused is not None:
        completed = {each["name"] for each in known if each.get("autocomplete")}
        assert focused in completed, f"{name} completes only {sorted(completed)}"
        return
    missing = {each["name"] for each in known if each.get("required")} - set(given)
    assert not missing, f"{name} needs {sorted(missing)}"
