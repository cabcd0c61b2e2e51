"""LINE and Slack: owners and strangers, in private and in groups; buttons, forgeries, repeats."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.chat.event import ChatEvent, ChatRoom
from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.turn.turn import Turn
from opencrab.engine.approvals import approvals
from opencrab.engine.memory.curation import MemoryCurator, NewMemory
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.chat_link import Chat, ChatCheck
from opencrab.ports.models.model import ChatRequest
from opencrab.ports.turn.journal import AdmittedMessage
from tests.hostile import names, words
from tests.hostile.entries.door import DoorEntry, Sent, broken, hostile_words
from tests.hostile.entry import Move
from tests.hostile.moves import agree
from tests.hostile.outside import Wall
from tests.hostile.watch import Canary
from tests.hostile.world import World
from tests.line import fake as line
from tests.slack import fake as slack

SECRET = line.SECRET
USERS = {"line": "U2222222222222222222222222222beef", "slack": "U0YUKI"}
_OWNERS = {"line": line.OWNER, "slack": slack.OWNER}
_GUESTS = {"line": line.GUEST, "slack": slack.GUEST}
_SIGNATURE = {"line": "x-line-signature", "slack": "x-slack-signature"}
_SIGNED: Mapping[str, Callable[..., dict[str, str]]] = {
    "line": lambda body, _at, secret: line.signed(body, secret),
    "slack": lambda body, at, secret: slack.signed(body, at, secret=secret),
}
_AGENTS = {"line": "crab", "slack": "kani"}
_FRESH = 300
_TAKEN = 200


class Chats(DoorEntry):
    """Two services, each with an owner, a user, strangers, and a group that all of them read."""

    name = "chats"
    principals = ("line-", "slack-")
    groups: set[str]
    secrets = (SECRET,)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._line = line.FakeLine(world.clock, door=self._from_line)
        self._slack = slack.FakeSlack(world.clock, door=self._from_slack)
        self._caught: tuple[Mapping[str, str], bytes] = {}, b""
        self._in_group: set[int] = set()
        self.groups = set[str]()

    def opened(self) -> None:
        """Let each agent always remember something that no group may hear."""
        super().opened()
        for kind, agent_id in _AGENTS.items():
            canary = Canary(f"CANARY-CORE-{kind}0", agent=agent_id, not_outsiders=True)
            self.world.watcher.canaries += (canary,)
            told = NewMemory(
                content=f"Hello today {canary.token}", category="core", hearing=Hearing.PRIVATE
            )
            MemoryCurator(self.world.runtime, agent_id, "owner").add(told)

    def secret(self, _name: str) -> str | None:
        return SECRET

    def install(self, runtime: Runtime) -> Runtime:
        watcher = self.world.watcher
        wall = Wall(lambda text: watcher.public(text, "a chat"))
        chats = {kind: self._chat(kind) for kind in _OWNERS}
        return replace(
            runtime,
            chats=chats,
            channels={**runtime.channels, "line": wall, "slack": wall},
        )

    def _chat(self, kind: str) -> Chat:
        people = ChatPeople(
            agent=_AGENTS[kind], owner_ids=(_OWNERS[kind],), user_ids=(USERS[kind],)
        )
        return Chat(people, _Link(self.world), lambda: SECRET, f"{kind.upper()}_SECRET")

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        return {
            "chat_say": (14, lambda _world: self._say()),
            "chat_press": (7, lambda _world: self._press()),
        }

    # What people there do.

    def _say(self) -> None:
        dice, number = self.world.dice, self.new_number()
        if dice.random() < 0.15 and self.sent:
            self._replay(dice.choice(self.sent[-6:]))
            return
        kind, who = dice.choice(("line", "slack")), dice.choice(("owner", "user", "guest", "guest"))
        is_group = dice.random() < 0.4
        said = hostile_words(self.world, number)
        if who != "guest":
            said = f"#e{number}e {dice.choice(words.PLAIN)}"
        by = {"owner": _OWNERS, "user": USERS, "guest": _GUESTS}[who][kind]
        if kind == "line":
            speak = self._line.mentions if is_group else self._line.says
            speak(said, by)
        elif dice.random() < 0.2:
            self._slack.asks(said, by, channel=slack.CHANNEL if is_group else f"D{by}")
        else:
            self._slack.says(said, by, channel=slack.CHANNEL if is_group else None)
        if is_group:
            self._in_group.add(number)
        authority = {"owner": Authority.OWNER, "user": Authority.USER}.get(who, Authority.PUBLIC)
        self._send(kind, number, authority, by)

    def _press(self) -> None:
        """Somebody presses a button of an approval: an owner, or whoever found its data."""
        dice, world = self.world.dice, self.world
        waiting = approvals.open_or_decided_approvals(world.runtime.home.facts, decided=False)
        if not waiting:
            return
        asked, kind = dice.choice(waiting), dice.choice(("line", "slack"))
        who = dice.choice((_OWNERS, _GUESTS, USERS))
        way = dice.choice(("right", "right", "other", "no", "odd"))
        told = {
            "right": f"oc:ap:{asked.id}:y:{asked.argument_hash[:16]}",
            "other": f"oc:ap:{asked.id}:y:{'0' * 16}",
            "no": f"oc:ap:{asked.id}:n",
            "odd": f"oc:ap:{asked.id}:y:",
        }[way]
        if kind == "line":
            self._line.send("postback", who[kind], None, postback={"data": told})
        else:
            self._slack.press_value(told, who[kind], f"D{who[kind]}")
        is_genuine = dice.random() < 0.8
        if is_genuine and who is _OWNERS and way == "right":
            agree(world, asked)
        world.watcher.counts["chat buttons"] += 1
        self._send(kind, self.new_number(), Authority.PUBLIC, who[kind], forged=not is_genuine)

    def _send(
        self, kind: str, number: int, authority: Authority, by: str, *, forged: bool | None = None
    ) -> None:
        headers, body = self._caught
        principal = f"{kind}-{by}"
        sent = Sent(kind, "", headers, body, number, f"{number}", authority, principal)
        if forged is None:
            forged = self.world.dice.random() < 0.3
        self.post(self._forged(sent) if forged else sent, (_TAKEN,))

    def _replay(self, sent: Sent) -> None:
        """Send a request once more: as it was, or as the service repeats it."""
        headers, now = dict(sent.headers), self._now()
        if sent.kind == "slack" and self.world.dice.random() < 0.5:
            kind = headers["content-type"]
            headers = {**slack.signed(sent.body, now, kind), "x-slack-retry-num": "1"}
        at = headers.get("x-slack-request-timestamp")
        is_fresh = at is None or abs(now - int(at)) <= _FRESH
        self.post(replace(sent, headers=headers, genuine=is_fresh), (_TAKEN,))

    def _forged(self, sent: Sent) -> Sent:
        """The same request as somebody would send it who does not know the secret."""
        dice, now, name = self.world.dice, self._now(), _SIGNATURE[sent.kind]
        headers, body = dict(sent.headers), sent.body
        way = dice.randrange(5)
        if way == 0:
            headers = broken(headers, name, dice.choice((None, "", "v0=", "蟹\ud83d", "A" * 44)))
        elif way == 1:
            body += b" "
        elif way == 2 and sent.kind == "slack":
            late = now + dice.choice((-301, 301, -86_400))
            headers |= slack.signed(body, late, headers["content-type"])
        elif way == 3 and sent.kind == "slack":
            headers = broken(headers, "x-slack-request-timestamp", f"{int(now) - 1}")
        else:
            secret = dice.choice(("", "guess", SECRET[:-1]))
            made = _SIGNED[sent.kind](body, now, secret)
            headers[name] = made[name]
        return replace(sent, headers=headers, body=body, genuine=False)

    def _from_line(self, headers: Mapping[str, str], body: bytes) -> int:
        self._caught = headers, body
        return _TAKEN

    def _from_slack(self, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        self._caught = headers, body
        return _TAKEN, None

    def _now(self) -> float:
        return self.world.clock.now().timestamp()

    # What must hold.

    def admitted(self, admission: AdmittedMessage) -> None:
        super().admitted(admission)
        if self.number_of(admission) in self._in_group:
            self.groups.add(admission.line.session_id)

    def sees(self, turn: Turn, request: ChatRequest, text: str) -> None:
        """In a group all read along: it hears nothing private, whoever asks."""
        if turn.session_id not in self.groups:
            return
        self.world.watcher.counts["chat turns in groups"] += 1
        for canary in self.world.watcher.canaries:
            elsewhere = canary.session is not None and canary.session != turn.session_id
            if canary.token in text and (elsewhere or canary.not_outsiders):
                self.world.watcher.problem(f"{canary.token} in a group's turn {turn.id}")


class _Link:
    """`ports.conversation.chat_link.ChatLink`: strangers' names are theirs, answers are public."""

    def __init__(self, world: World) -> None:
        self._world = world

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:
        if user_id not in _GUESTS.values():
            return "yuki"
        dice = self._world.dice
        return dice.choice((None, names.name(dice, self._world.watcher.mint()), "\ud83d", "a\nb"))

    def answer_event(self, event: ChatEvent, text: str) -> None:
        self._world.watcher.public(text, "an answer to a press")

    def checks(self) -> tuple[ChatCheck, ...]:
        return ()
