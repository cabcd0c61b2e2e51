"""The connections to several servers."""

from collections.abc import Mapping
from threading import Barrier, BrokenBarrierError, Event
from typing import Any

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.domain.mcp.protocol import PROTOCOL
from opencrab.domain.mcp.server import McpServer


class Slow:
    """A connection that ends once all others do."""

    tools_changed = False
    is_open = True

    def __init__(self, all_end: Barrier) -> None:
        self._all_end = all_end
        self.ended, self.done = False, Event()

    def request(
        self, method: str, _params: Mapping[str, Any], _deadline: float, running: object = None
    ) -> dict[str, Any]:
        return {"tools": []} if method == "tools/list" else {"protocolVersion": PROTOCOL}

    def notify(self, method: str, deadline: float) -> None:
        """Nothing is told."""

    def close(self) -> None:
        try:
            self._all_end.wait(10)
        except BrokenBarrierError:
            return
        self.ended = True
        self.done.set()


def test_servers_that_are_slow_to_end_do_not_wait_for_each_other() -> None:
    all_end, opened = Barrier(3), list[Slow]()

    def connect(_server: McpServer) -> Slow:
        opened.append(Slow(all_end))
        return opened[-1]

    client = McpConnections(connect)
    for name in ("kani", "ebi", "uni"):
        assert client.tools(McpServer(name=name, command="x")) == ()
    client.close()
    assert [each.ended for each in opened] == [True] * 3


def test_nobody_waits_for_the_end_of_a_server_that_is_gone_or_changed() -> None:
    all_end, opened = Barrier(3), dict[str, Slow]()

    def connect(server: McpServer) -> Slow:
        return opened.setdefault(server.name, Slow(all_end))

    client = McpConnections(connect)
    kani, ebi, uni = (McpServer(name=name, command="x") for name in ("kani", "ebi", "uni"))
    for each in (kani, ebi, uni):
        client.tools(each)
    client.close_all_but((kani, McpServer(name="uni", command="y")))
    assert not any(each.ended for each in opened.values())
    all_end.wait(10)
    client.close_all_but((kani,))
    assert opened["ebi"].done.wait(10)
    assert opened["uni"].done.wait(10)
    assert all_end.n_waiting == 0
    assert not opened["kani"].ended
