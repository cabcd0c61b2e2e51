"""The floor: the least that a turn could cost, and turns measured beside it, one and one in turn.

Needs nothing but Python itself, as the peers' environments have nothing else of ours.
"""

import http.client
import json
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

HISTORY = 10
SAID = "買い物のメモを書いてください。"
WARM_UP = 5


def history() -> list[dict[str, Any]]:
    """What was said before, by a user and an assistant in turn."""
    return [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"{number}番目の発言です。今日は天気がよいので、散歩に行きたいです。",
        }
        for number in range(HISTORY)
    ]


def cpu_ms() -> float:
    """CPU of this process and of its children that ended, all threads."""
    used = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used) * 1_000


def bare_loop(base_url: str) -> Callable[[], None]:
    """Two requests and answers with json and http.client alone; nothing is kept."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": f"action_{n}", "parameters": schema}}
        for n in range(7)
    ]
    before: list[dict[str, Any]] = [
        {"role": "user", "content": f"{n}番目の発言です。"} for n in range(HISTORY)
    ]

    def turn() -> None:
        messages: list[dict[str, Any]] = [*before, {"role": "user", "content": "メモを書いて"}]
        for _ in range(2):
            request = {"model": "stub", "messages": messages, "tools": tools, "max_tokens": 2_048}
            body = json.dumps(request, ensure_ascii=False).encode()
            headers = {"content-type": "application/json"}
            connection.request("POST", f"{address.path}/chat/completions", body, headers)
            answer = json.loads(connection.getresponse().read())["choices"][0]["message"]
            messages.append(answer)
            for call in answer.get("tool_calls") or ():
                json.loads(call["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": "{}"})

    return turn


@dataclass(frozen=True)
class Beside:
    """CPU of a turn and of the floor that ran just before it: medians, of the pairs' ratio too."""

    turn_ms: float
    floor_ms: float
    ratio: float
    p95_ms: float

    def as_json(self) -> Mapping[str, float]:
        """Its figures, as a driver prints them."""
        return asdict(self)


def beside_floor(
    floor: Callable[[], object],
    *runs: Callable[[], object],
    turns: int,
    cpu: Callable[[], float] = cpu_ms,
) -> list[Beside]:
    """The floor, then each of the runs once, so many times, after some that warm all up.

    Whatever slows the machine for a while slows all. `cpu` reads the clock of the process that runs
    turns, where that is another one. All that it does until the next run begins counts, also after
    its answer and in other threads; the floor, which has only this thread, does not.
    """
    for _ in range(WARM_UP):
        for run in (floor, *runs):
            run()
    floors, spent = list[float](), [list[float]() for _ in runs]
    before = cpu()
    for _ in range(turns):
        started = time.thread_time()
        floor()
        floors.append((time.thread_time() - started) * 1_000)
        own = floors[-1] if cpu is cpu_ms else 0.0
        for run, each in zip(runs, spent, strict=True):
            run()
            after = cpu()
            each.append(after - before - own)
            before, own = after, 0.0
    return [_beside(each, floors) for each in spent]


def _beside(spent: list[float], floors: list[float]) -> Beside:
    ratio = statistics.median(one / least for one, least in zip(spent, floors, strict=True))
    most = sorted(spent)[len(spent) * 95 // 100]
    return Beside(statistics.median(spent), statistics.median(floors), ratio, most)
