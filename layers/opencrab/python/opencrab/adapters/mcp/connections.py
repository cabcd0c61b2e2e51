"""`ports.mcp.McpClient`: one connection for each server of the settings, opened when needed."""

import atexit
import json
from collections.abc import Callable, Iterable, Mapping
from threading import Lock, Thread
from time import monotonic
from typing import Any, Protocol

from opencrab.adapters.mcp.messages import mcp_handshake
from opencrab.adapters.mcp.running_call import RunningCall
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.protocol import PROTOCOLS
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import MOST_TOOLS, McpTool
from opencrab.ports.conversation.answers import CallProgressWatch
from opencrab.ports.mcp import McpAnswer, McpSessionEnded, McpUnavailable

_PAGES = 20
_LISTED_SECONDS = 300.0
"""Time after which a server is asked for its tools again, though it said nothing."""

_KIBIBYTE = 1024


class McpConnection(Protocol):
    """One open connection; `tools_changed` is set when the server says that its tools changed."""

    tools_changed: bool

    @property
    def is_open(self) -> bool:
        """True while it can be asked."""

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        running: RunningCall | None = None,
    ) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest.

        With `running` the server is asked for its progress, and the request may be cancelled.
        """

    def notify(self, method: str, deadline: float) -> None:
        """Send a notification."""

    def close(self) -> None:
        """End the connection."""


Connect = Callable[[McpServer], McpConnection]


class McpConnections:
    """`ports.mcp.McpClient`.

    Args:
        connect: Opens a connection, without a handshake.
        clock: Monotonic seconds.
    """

    def __init__(self, connect: Connect, clock: Callable[[], float] = monotonic) -> None:
        self._connect = connect
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self._lock = Lock()
        atexit.register(self.close)

    def tools(self, server: McpServer) -> tuple[McpTool, ...]:
        return self._place(server).listed(self._deadline(server))

    def call(
        self,
        server: McpServer,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        key: str = "",
        hops: int = 0,
        watch: CallProgressWatch | None = None,
    ) -> McpAnswer:
        place, deadline = self._place(server), self._deadline(server)
        given: dict[str, Any] = {"name": tool, "arguments": dict(arguments)}
        if server.a2a:
            given["_meta"] = {"key": key, "hops": hops}

        running = None if watch is None else RunningCall()

        def once() -> dict[str, Any]:
            connection = _verified_connection(place, tool, fingerprint, deadline)
            return connection.request("tools/call", given, deadline, running)

        def request() -> dict[str, Any]:
            try:
                return once()
            except McpSessionEnded:
                # A server that starts again may be another release of it: all is checked again.
                return once()

        result = request() if running is None or watch is None else running.run(request, watch)
        return _answer(result, server.max_result_kb * _KIBIBYTE)

    def changed_tools(self, server: McpServer, fingerprints: Mapping[str, str]) -> frozenset[str]:
        with self._lock:
            place = self._places.get(server.name)
        seen = None if place is None else place.seen
        if seen is None:
            return frozenset()
        return frozenset(
            name for name, fingerprint in fingerprints.items() if seen.get(name) != fingerprint
        )

    def close_all_but(self, servers: Iterable[McpServer]) -> None:
        """Begin to end the connections to servers that are not among these as they are now.

        Nobody waits for that: whoever asks which servers there are would.
        """
        self._end(self._taken_out(servers))

    def close(self) -> None:
        """End all connections."""
        for each in self._end(self._taken_out(())):
            each.join()

    def _taken_out(self, kept: Iterable[McpServer]) -> "list[_Place]":
        named = {server.name: server for server in kept}
        with self._lock:
            gone = [each for name, each in self._places.items() if each.server != named.get(name)]
            for each in gone:
                del self._places[each.server.name]
        return gone

    @staticmethod
    def _end(places: "list[_Place]") -> list[Thread]:
        """Return threads that end connections, all at once: one that does not end takes seconds."""
        ending = [Thread(target=place.close, daemon=True) for place in places]
        for each in ending:
            each.start()
        return ending

    def _deadline(self, server: McpServer) -> float:
        return self._clock() + server.timeout_seconds

    def _place(self, server: McpServer) -> "_Place":
        if server.problem:
            raise Refused(
                f"the MCP server {server.name} cannot be used: {server.problem}", cure=server.cure
            )
        with self._lock:
            place = self._places.get(server.name)
            if place is None or place.server != server:
                before, place = place, _Place(server, self._connect)
                self._places[server.name] = place
                if before is not None:
                    before.close()
        return place


class _Place:
    """The connection to one server, and its tools as last listed: `seen`, None before that."""

    def __init__(self, server: McpServer, connect: Connect) -> None:
        self.server = server
        self.seen: Mapping[str, str] | None = None
        self._connect = connect
        self._connection: McpConnection | None = None
        self._listed_at = -_LISTED_SECONDS
        self._lock = Lock()

    def request(self, method: str, params: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Return the result of a request, in a new session if the server ended the one before."""
        try:
            return self.connection(deadline).request(method, params, deadline)
        except McpSessionEnded:
            return self.connection(deadline).request(method, params, deadline)

    def connection(self, deadline: float) -> McpConnection:
        """Return the open connection, or a new one after its handshake."""
        if not self._lock.acquire(timeout=max(deadline - monotonic(), 0.0)):
            raise McpUnavailable(f"the MCP server {self.server.name} is still starting")
        try:
            found = self._connection
            if found is not None and found.is_open:
                return found
            self._connection, self._listed_at = None, -_LISTED_SECONDS
            try:
                self._connection = self._opened(deadline)
            except McpSessionEnded:
                # One of nobody's, which ends as soon as the owner's token is needed.
                self._connection = self._opened(deadline)
            return self._connection
        finally:
            self._lock.release()

    def _opened(self, deadline: float) -> McpConnection:
        opened = self._connect(self.server)
        try:
            self._shake_hands(opened, deadline)
        except BaseException:
            opened.close()
            raise
        return opened

    def known(self, connection: McpConnection, deadline: float) -> Mapping[str, str]:
        """Return the fingerprints of the server's tools, asked for again at times."""
        is_old = monotonic() - self._listed_at >= _LISTED_SECONDS
        if is_old or connection.tools_changed:
            self.listed(deadline)
        return self.seen or {}

    def listed(self, deadline: float) -> tuple[McpTool, ...]:
        """Ask the server for its tools, at most 128."""
        self.connection(deadline).tools_changed = False
        # If this fails, it is asked again before the next call.
        self._listed_at = -_LISTED_SECONDS
        found, cursor = list[McpTool](), None
        for _ in range(_PAGES):
            page = self.request("tools/list", {"cursor": cursor} if cursor else {}, deadline)
            tools, cursor = page.get("tools"), page.get("nextCursor")
            if not isinstance(tools, list):
                raise McpUnavailable(f"the MCP server {self.server.name} lists no tools")
            found += [McpTool.of(each) for each in tools if isinstance(each, dict)]
            if not isinstance(cursor, str) or not cursor or len(found) >= MOST_TOOLS:
                break
        once = {each.name: each for each in reversed(found[:MOST_TOOLS])}
        self.seen = {name: each.fingerprint for name, each in once.items()}
        self._listed_at = monotonic()
        return tuple(once[name] for name in sorted(once))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _shake_hands(self, connection: McpConnection, deadline: float) -> None:
        said = connection.request("initialize", mcp_handshake(), deadline)
        if said.get("protocolVersion") not in PROTOCOLS:
            raise McpUnavailable(
                f"the MCP server {self.server.name} speaks none of the revisions "
                f"{', '.join(sorted(PROTOCOLS))} of the protocol",
                cure="use another release of it",
            )
        connection.notify("notifications/initialized", deadline)


def _verified_connection(
    place: _Place, tool: str, fingerprint: str, deadline: float
) -> McpConnection:
    """Return the connection on which the server describes a tool as it was trusted."""

    def look() -> tuple[McpConnection, str | None]:
        connection = place.connection(deadline)
        return connection, place.known(connection, deadline).get(tool)

    try:
        connection, listed = look()
        if not connection.is_open:
            # It ended meanwhile, and the tools were listed on another one.
            connection, listed = look()
    except McpUnavailable as error:
        # What was sent is not the call.
        raise McpUnavailable(error.message, cure=error.cure) from None
    if listed != fingerprint:
        what = "no longer has the tool" if listed is None else "has changed the tool"
        raise Refused(
            f"the MCP server {place.server.name} {what} {tool}; nothing was sent",
            cure=f"its owner must look at it first, with `opencrab mcp test {place.server.name}`",
        )
    return connection


def _answer(result: Mapping[str, Any], most: int) -> McpAnswer:
    """Return a tool's result as text and data, cut to a number of bytes."""
    blocks = result.get("content")
    parts = [_block(each) for each in blocks] if isinstance(blocks, list) else []
    text = "\n".join(part for part in parts if part)
    data = result.get("structuredContent")
    if not isinstance(data, dict):
        data = None
    # Servers repeat their data as text, for clients that read only that.
    if data is not None and (not text or _same(text, data)):
        text = ""
    if data is not None and len(json.dumps(data, ensure_ascii=False).encode()) > most:
        text, data = text or json.dumps(data, ensure_ascii=False), None
    whole = text.encode()
    if len(whole) > most:
        text = whole[:most].decode(errors="ignore") + f"\n[cut: {len(whole):,} bytes in all]"
    return McpAnswer(text, data, is_error=result.get("isError") is True)


def _same(text: str, data: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads(text) == data)
    except (ValueError, RecursionError):
        return False


def _block(block: Any) -> str:
    """Return one block of content as text; pictures and other bytes are named, not shown."""
    if not isinstance(block, dict):
        return ""
    kind, resource = block.get("type"), block.get("resource")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource" and isinstance(resource, dict):
        if isinstance(resource.get("text"), str):
            return f"[{resource.get('uri', '')}]\n{resource['text']}"
        return _left_out("resource", resource.get("mimeType"), resource.get("blob"))
    if kind == "resource_link":
        return f"[{block.get('name', '')}: {block.get('uri', '')}]"
    return _left_out(str(kind), block.get("mimeType"), block.get("data"))


def _left_out(kind: str, media: Any, data: Any) -> str:
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"[{kind[:40]}, {str(media)[:60]}, {size:,} bytes: left out]"
