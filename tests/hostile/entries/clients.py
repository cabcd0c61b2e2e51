"""Programs with keys: MCP, A2A and OpenAI's API, by several people who try each other's ids."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from opencrab.domain.a2a.protocol import A2A_HOPS
from opencrab.domain.access.authority import Scope
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.turn import Turn
from opencrab.engine.access.api_keys import register_api_key
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.approvals import approvals
from opencrab.ports.models.model import ChatRequest
from opencrab.ports.turn.journal import AdmittedMessage
from tests.hostile import words, working
from tests.hostile.entries.client_books import Client, ClientBooks
from tests.hostile.entries.client_calls import Heard, Requests
from tests.hostile.entries.client_requests import (
    INITIALIZE,
    NOBODYS,
    SCHEMA,
    TOOL,
    WAYS,
    looking,
    question,
    rpc,
    tool,
    user,
)
from tests.hostile.entry import Entry, Move
from tests.hostile.law import fingerprint
from tests.hostile.world import AGENTS, SAFE, World

_PEOPLE = (
    ("owner", "client-owner", Scope.OWNER, ()),
    ("pia", "client-pia", Scope.CHAT, ()),
    ("pia's phone", "client-pia", Scope.CHAT, ()),
    ("pia2", "client-pia2", Scope.CHAT, ()),
    ("reader", "client-reader", Scope.READ, ("sessions:room", "agent:crab")),
    ("counter", "client-counter", Scope.READ, ("metrics",)),
)
_ROOMS = ("room", "room2")
"""Sessions of the owner's, which are shared with some people for a while."""

_CALL = re.compile(r"call_([0-9a-z]{26})_(\d+)_(\d+)")
_CHECKED = 16
"""Seconds after which a stream asks again whether its client may hear it."""

_BAD, _LATE = 400, 503


class Clients(Entry):
    """Six keys of five people, and what they ask, look at, decide, cancel and bring."""

    name = "clients"

    def __init__(self, world: World) -> None:
        self.world, self.dice = world, world.dice
        self.books = ClientBooks(world)
        self.clients: list[Client] = []
        self.asked_calls: dict[tuple[str, str], set[int]] = {}
        self._brought: dict[tuple[str, str], dict[str, str]] = {}
        self._requests: Requests | None = None
        self._old: list[Client] = []

    def opened(self) -> None:
        self.restarted()
        for name, principal, scope, grants in _PEOPLE:
            self.clients.append(self._key(Client(name, "", principal, scope, grants)))
        for room in _ROOMS:
            self.world.session(room, tuple(AGENTS) if room == "room" else ("kani",))

    def restarted(self) -> None:
        self.closed()
        self._requests = Requests(self.world.runtime)

    def closed(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        return {
            "client_ask": (24, lambda _world: self._ask()),
            "client_look": (12, lambda _world: self._look()),
            "client_results": (8, lambda _world: self._bring()),
            "client_decide": (4, lambda _world: self._decide()),
            "client_cancel": (4, lambda _world: self._cancel()),
            "client_share": (5, lambda _world: self._share()),
            "client_rekey": (1, lambda _world: self._revoke(self.dice.choice(self.clients))),
        }

    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        return ((TOOL, SCHEMA),)

    def admitted(self, admission: AdmittedMessage) -> None:
        self.books.admitted(admission)

    def sees(self, turn: Turn, request: ChatRequest, text: str) -> None:
        self.books.sees(turn, text)
        if any(each.name.startswith("client__") for each in request.actions):
            self.world.watcher.counts["client tools offered"] += 1
            if not turn.principal_id.startswith("client-"):
                self.books.problem(f"tools of a client are offered to {turn.principal_id}")

    # Keys and rooms.

    def _key(self, client: Client) -> Client:
        self.world.watcher.counts["client keys"] += 1
        secret = f"oc_secret-{self.dice.randrange(16**16):016x}"
        runtime = self.world.runtime
        register_api_key(
            runtime, name=client.name, scope=client.scope, secret=secret,
            principal_id=client.principal, grants=client.grants,
        )  # fmt: skip
        self.secrets += (secret,)
        made = Client(client.name, secret, client.principal, client.scope, client.grants)
        begun = self._send(made, "POST", "/mcp", rpc("initialize", INITIALIZE))
        made.mcp = begun.headers.get("mcp-session-id", "")
        return made

    def _revoke(self, client: Client) -> None:
        """Revoke a key; its holder gets another, and goes on trying the old one."""
        if client.scope is Scope.OWNER or client.secret in self.books.dead:
            return
        keys = self.world.runtime.home.keys
        found = next(
            each for each in keys.list() if each.hash == content_hash(client.secret.encode())
        )
        keys.revoke(found.id, self.world.clock.now())
        self.books.dead.add(client.secret)
        self._old.append(client)

    def _anyone(self) -> Client:
        """A client, now and then one whose key was revoked."""
        for place, client in enumerate(self.clients):
            if client.secret in self.books.dead:
                self.clients[place] = self._key(client)
        if self._old and self.dice.random() < 0.08:
            return self.dice.choice(self._old)
        return self.dice.choice(self.clients)

    def _share(self) -> None:
        home, room = self.world.runtime.home, self.dice.choice(_ROOMS)
        who = self.dice.choice(("client-pia", "client-pia2"))
        if who in self.books.members[room] and self.dice.random() < 0.4:
            self._unshare(room, who)
        elif any(
            each.principal == who and each.secret not in self.books.dead for each in self.clients
        ):
            let_principal_access_session(home.facts, home.keys, room, who)
            self.books.members[room].add(who)

    def _unshare(self, room: str, who: str) -> None:
        revoke_session_access(self.world.runtime.home.facts, room, who)
        self.books.members[room].discard(who)

    # Questions.

    def _ask(self) -> None:
        dice, client, way = self.dice, self._anyone(), self.dice.choice(WAYS)
        once = way.startswith(("mcp", "a2a")) or dice.random() < 0.5
        by_peer = way.startswith("a2a") and dice.random() < 0.2
        number = self.books.number(client, once=once, by_peer=by_peer)
        said = f"#q{number}q {dice.choice(words.PLAIN)}"
        said = f"{self.world.watcher.mint()} {said}" if by_peer else said
        # Ids are chosen by clients, so that those of two of them are often equal.
        key = dice.choice(("one", f"one{number}", f"n{number}")) if once else None
        if key == "one":
            key = f"one{number // 3}"
        session = dice.choice((None, *_ROOMS, *_ROOMS, self._some_session()))
        after = self._some_turn() if dice.random() < 0.6 else None
        path, headers, body = question(dice, way, said, key=key, session=session, after=after)
        if by_peer:
            body["params"]["message"]["metadata"] = {A2A_HOPS: 1}
        happens = self._happens(client, number)
        for _ in range(dice.choice((1, 1, 2))):
            on_lambda = dice.random() < 0.3
            heard = self._send(
                client, "POST", path, body, headers=headers, meanwhile=happens, on_lambda=on_lambda
            )
            self._note_calls(heard)
            self.books.cut_off.clear()
            happens = ()

    def _happens(self, client: Client, number: int) -> tuple[Callable[[], object], ...]:
        """What happens while a client waits: work, and perhaps it loses its key or the session."""
        work = lambda: working.work(self.world)  # noqa: E731
        many = self.dice.choice((0, 3, 6))
        if self.dice.random() < 0.5:
            return (work,) * many
        return (
            *(work,) * self.dice.choice((0, 0, 1)),
            lambda: self._lose(client, number),
            *(work,) * 6,
        )

    def _lose(self, client: Client, number: int) -> None:
        turns = self.books.turns_of(number)
        if not turns:
            return
        session_id = turns[0].session_id
        newest = self.world.raw.journal.lines(session_id, limit=1, newest_first=True)
        if client.principal in self.books.members[session_id] and self.dice.random() < 0.6:
            self._unshare(session_id, client.principal)
        else:
            self._revoke(client)
        if not self.books.may_read(client, session_id):
            self.world.watcher.counts["client cut off"] += 1
            self.books.cut_off.append((session_id, newest[0].sequence))
            assert self._requests is not None
            self._requests.cut_off(_CHECKED)

    # Ids of others.

    def _look(self) -> None:
        client, dice = self._anyone(), self.dice
        turn, waiting = self._some_turn(), self._open_approvals()
        session = self._some_session()
        asked: list[tuple[str, str]] = [("session", session), ("resource", session), ("list", "")]
        asked += [(kind, turn.id) for kind in ("follow", "task", "subscribe", "response") if turn]
        asked += [("approval", dice.choice(waiting).id)] if waiting else []
        if dice.random() < 0.1:
            other = dice.choice(self.clients)
            heard = self._send(
                client,
                "POST",
                "/mcp",
                tool("list_sessions"),
                headers={"mcp-session-id": other.mcp},
            )
            if other.secret != client.secret and other.mcp and heard.status < _BAD:
                self.books.problem(f"{client.name} went on in the MCP session of {other.name}")
            return
        kind, wanted = dice.choice(asked)
        agent = turn.agent_id if turn else "kani"
        heard = self._send(client, *looking(dice, kind, wanted, agent))
        self._note_calls(heard)
        of = next((each.session_id for each in waiting if each.id == wanted), wanted)
        of = turn.session_id if turn and wanted == turn.id else of
        if wanted and not self.books.may_read(client, of):
            missing = self._send(client, *looking(dice, kind, NOBODYS, agent))
            same = missing.text.replace(NOBODYS, "ID") == heard.text.replace(wanted, "ID")
            if missing.status != heard.status or not same:
                self.books.problem(
                    f"{client.name} can tell that {kind} {wanted} exists: {heard.text[:200]}"
                )

    # Results, decisions, stops.

    def _note_calls(self, heard: Heard) -> None:
        for turn_id, n, place in _CALL.findall(heard.text):
            self.asked_calls.setdefault((turn_id, n), set()).add(int(place))

    def _bring(self) -> None:
        """Bring results of a client's tools: one's own or another's, at once, again or late."""
        if not self.asked_calls:
            return
        dice, chosen = self.dice, self.dice.choice(sorted(self.asked_calls)[-3:])
        turn = self.world.watcher.turns[chosen[0]]
        own = [each for each in self.clients if each.principal == turn.principal_id]
        client = dice.choice(own) if own and dice.random() < 0.5 else self._anyone()
        number = len(self.books.results) + 1
        self.books.results[number] = client, turn.id
        before = self._brought.get(chosen)
        texts = {
            f"{place}": f"#r{number}r {self.world.watcher.mint()}"
            for place in self.asked_calls[chosen]
        }
        if before is not None and dice.random() < 0.5:
            texts = before
        told = [
            {
                "role": "tool",
                "tool_call_id": f"call_{chosen[0]}_{chosen[1]}_{place}",
                "content": said,
            }
            for place, said in texts.items()
        ]
        body = {
            "model": turn.agent_id,
            "messages": [user("?"), {"role": "assistant", "content": "…"}, *told],
        }
        heard = self._send(
            client,
            "POST",
            "/v1/chat/completions",
            body,
            meanwhile=(lambda: working.work(self.world),),
        )
        self.world.watcher.counts["client results"] += 1
        taken = heard.status < _BAD or heard.status == _LATE
        if client.principal != turn.principal_id:
            self._expect_no_call(client, heard)
        elif taken and before not in (None, texts):
            self.books.problem(f"calls {chosen} took other results than before")
        elif taken:
            self.world.watcher.counts["client results taken"] += 1
            self._brought[chosen] = texts

    def _expect_no_call(self, client: Client, heard: Heard) -> None:
        """The calls of somebody else are as calls that there are not."""
        if client.secret in self.books.dead or client.scope is Scope.READ:
            return
        if "waits for a result here" not in heard.text:
            self.books.problem(
                f"{client.name} brought results of others' calls: {heard.text[:200]}"
            )

    def _decide(self) -> None:
        waiting = self._open_approvals()
        if not waiting:
            return
        client, chosen = self._anyone(), self.dice.choice(waiting)
        is_owner, right = client.scope is Scope.OWNER, self.dice.random() < 0.7
        shown = chosen.argument_hash if right else "0" * 64
        if is_owner and right:
            watcher = self.world.watcher
            call = watcher.calls.get((chosen.turn_id, chosen.call_id))
            watcher.approved[chosen.turn_id, chosen.call_id] = fingerprint(call)
            if chosen.action == "set_purpose" and call is not None:
                watcher.vouched |= set(words.FOREIGN.findall(str(call.arguments)))
        if self.dice.random() < 0.5:
            given = {"approval_id": chosen.id, "approved": True, "argument_hash": shown}
            self._send(client, "POST", "/mcp", tool("decide_approval", **given))
        else:
            data = {"approvalId": chosen.id, "approved": True, "argumentHash": shown}
            message = {
                "role": "ROLE_USER",
                "messageId": chosen.id,
                "taskId": chosen.turn_id,
                "parts": [{"data": data}],
            }
            self._send(
                client, "POST", f"/a2a/{chosen.agent_id}", rpc("SendMessage", {"message": message})
            )
        self.world.watcher.counts["client decisions"] += 1
        now = approvals.find_approval(self.world.raw.facts, chosen.id)
        if now.by == client.principal and not (is_owner and right):
            self.books.problem(f"{client.name} decided {chosen.id}, with the right hash: {right}")

    def _cancel(self) -> None:
        client, turn = self._anyone(), self._some_turn()
        if turn is None:
            return
        others = self.books.shared_turns(client)
        turn = self.dice.choice(others) if others else turn
        way = self.dice.choice(("mcp", "a2a", "openai"))
        if way == "mcp":
            self._send(client, "POST", "/mcp", tool("cancel_turn", turn_id=turn.id))
        elif way == "a2a":
            self._send(client, "POST", f"/a2a/{turn.agent_id}", rpc("CancelTask", {"id": turn.id}))
        else:
            self._send(client, "POST", f"/v1/responses/resp_{turn.id}/cancel")
        stop = self.world.raw.journal.header(turn.id).stop
        if stop is not None and stop.by == client.principal not in {
            turn.principal_id,
            "client-owner",
        }:
            self.books.problem(f"{turn.id} of {turn.principal_id} was stopped by {stop.by}")

    # What there is.

    def _some_turn(self) -> Turn | None:
        turns = [
            t for t in self.world.watcher.turns.values() if t.principal_id.startswith("client-")
        ]
        return self.dice.choice(turns[-8:]) if turns else None

    def _some_session(self) -> str:
        known = {
            t.session_id: None
            for t in self.world.watcher.turns.values()
            if t.principal_id.startswith("client-")
        }
        return self.dice.choice((SAFE, *_ROOMS, *list(known)[-6:]))

    def _open_approvals(self) -> tuple[Approval, ...]:
        return tuple(approvals.open_or_decided_approvals(self.world.raw.facts, decided=False))

    def _send(
        self, client: Client, method: str, path: str, body: Any = None, *,
        headers: Mapping[str, str] | None = None,
        meanwhile: tuple[Callable[[], object], ...] = (), on_lambda: bool = False,
    ) -> Heard:  # fmt: skip
        assert self._requests is not None
        sent = {"authorization": f"Bearer {client.secret}", "a2a-version": "1.0"}
        sent |= {"mcp-session-id": client.mcp} if client.mcp and path == "/mcp" else {}
        heard = self._requests.send(
            method, path, sent | dict(headers or {}), body, meanwhile=meanwhile, on_lambda=on_lambda
        )
        self.books.hears(client, f"{path} {body}", heard)
        return heard
