"""A fake of Discord's gateway, and of the few REST calls that the relay makes beside it.

It speaks version 10 over a WebSocket: hello, identify, resume, heartbeats, compressed as hikari
asks for it. What is said in its channels is kept, whether somebody is connected or not.
"""

import asyncio
import json
import threading
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Self

from aiohttp import WSMsgType, web

BOT, HANA, GUILD, HERE = "1000", "700", "42", "555"
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 9, 10, 11


def user(user_id: str, name: str, *, bot: bool = False) -> dict[str, Any]:
    """Discord's user object."""
    return {
        "id": user_id,
        "username": name,
        "global_name": None,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
        "flags": 0,
        "public_flags": 0,
    }


def member_of(user: dict[str, Any] | None, nick: str | None = "花\u200b子") -> dict[str, Any]:
    """Discord's member object: what somebody is in the server, with one role."""
    return {
        **({} if user is None else {"user": user}),
        "nick": nick,
        "roles": ["9"],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "flags": 0,
    }


class Gateway:
    """Discord, to a relay; it forgets sessions at once, and may refuse whoever comes by a code."""

    def __init__(self, *, refuses: int | None = None, bot: Mapping[str, Any] | None = None) -> None:
        self._bot = user(BOT, "opencrab", bot=True) if bot is None else bot
        self.messages: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.connections = 0
        self._refuses = refuses
        self._socket: web.WebSocketResponse | None = None
        self._pack: Callable[[bytes], bytes] = bytes
        self._sequence = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gateway")
        self._runner: web.AppRunner | None = None
        self.on_ready: Callable[[int], object] = lambda _: None
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(10)
        return self

    def __exit__(self, *error: object) -> None:
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def websocket_url(self) -> str:
        """The address of the connection that a relay holds open."""
        return self.url.replace("http", "ws") + "/ws/"

    def tell(self, name: str, data: Mapping[str, Any]) -> None:
        """One event, told by a program that is not asynchronous."""
        asyncio.run_coroutine_threadsafe(self.dispatch(name, data), self._loop).result(10)

    def write(self, message_id: str, content: str, **changes: Any) -> dict[str, Any]:
        """A message by somebody; whoever is connected does not hear of it."""
        message = {
            "id": message_id,
            "channel_id": HERE,
            "type": 0,
            "author": user(HANA, "hana"),
            "content": content,
            "timestamp": "2026-02-17T09:00:00+00:00",
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "flags": 0,
            "components": [],
        } | changes
        self.messages.append(message)
        return message

    async def say(self, message_id: str, content: str, **changes: Any) -> None:
        """A message that whoever is connected hears of, with the writer's nickname and role."""
        message = self.write(message_id, content, **changes)
        member = member_of(None)
        await self.dispatch("MESSAGE_CREATE", message | {"guild_id": GUILD, "member": member})

    async def dispatch(self, name: str, data: Mapping[str, Any]) -> None:
        """One event."""
        self._sequence += 1
        await self._send({"op": DISPATCH, "t": name, "s": self._sequence, "d": data})

    async def close(self) -> None:
        """Lose the connection."""
        assert self._socket is not None
        await self._socket.close(code=4000)

    async def _serve(self) -> None:
        application = web.Application()
        application.router.add_get("/ws/", self._talk)
        application.router.add_get("/{path:.*}", self._rest)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"

    async def _rest(self, request: web.Request) -> web.Response:
        path = request.path
        self.asked.append(request.path_qs)
        if path == "/gateway/bot":
            limits = {"total": 9, "remaining": 9, "reset_after": 1, "max_concurrency": 1}
            return web.json_response(
                {"url": self.websocket_url, "shards": 1, "session_start_limit": limits}
            )
        if path == f"/channels/{HERE}":
            return web.json_response(
                {"id": HERE, "type": 0, "guild_id": GUILD, "name": "crabs", "position": 0,
                 "permission_overwrites": [], "parent_id": None,
                    "topic": None,
                    "last_message_id": None,
                    "rate_limit_per_user": 0,
                    "flags": 0, "nsfw": False}
            )  # fmt: skip
        if path == f"/channels/{HERE}/messages":
            after = int(request.query["after"])
            found = [each for each in self.messages if int(each["id"]) > after]
            return web.json_response(found[::-1])
        if path == f"/guilds/{GUILD}/members/{HANA}":
            return web.json_response(member_of(user(HANA, "hana")))
        return web.json_response({"message": f"no {path}", "code": 0}, status=404)

    async def _talk(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        squeeze = zlib.compressobj()
        packs = request.query.get("compress") == "zlib-stream"
        self._pack = (
            (lambda raw: squeeze.compress(raw) + squeeze.flush(zlib.Z_SYNC_FLUSH))
            if packs
            else bytes
        )
        self._socket = socket
        await self._send({"op": HELLO, "d": {"heartbeat_interval": 30_000}})
        async for frame in socket:
            if frame.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                await self._hear(json.loads(frame.data))
        return socket

    async def _hear(self, said: Mapping[str, Any]) -> None:
        assert self._socket is not None
        match said["op"]:
            case 1:
                await self._send({"op": ACK})
            case 6:
                await self._send({"op": INVALID_SESSION, "d": False})
            case 2 if self._refuses is not None:
                await self._socket.close(code=self._refuses)
            case 2:
                self.connections += 1
                await self.dispatch("READY", self._ready())
                await self._after_ready()

    def _ready(self) -> dict[str, Any]:
        return {
            "v": 10,
            "user": {**self._bot, "mfa_enabled": False, "verified": True},
            "guilds": [],
            "session_id": "s",
            "resume_gateway_url": self.websocket_url,
            "application": {"id": self._bot["id"], "flags": 0},
            "shard": [0, 1],
        }

    async def _after_ready(self) -> None:
        found = self.on_ready(self.connections)
        if asyncio.iscoroutine(found):
            await found

    async def _send(self, payload: Mapping[str, Any]) -> None:
        assert self._socket is not None
        await self._socket.send_bytes(self._pack(json.dumps(payload).encode()))
