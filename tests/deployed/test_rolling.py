"""Two releases at once under load, as in a rolling deployment: nothing is lost, said twice or 5xx.

The next release is this one with two stored values that have another form: a field more, which an
upgrade fills in, and a higher version. It takes the functions over in two groups, goes back in the
same way, and comes again, while people talk and read. What a function is doing then, it ends.
"""

import io
import shutil
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.deployed.emulator import rest
from tests.deployed.stack import Answer, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(900)]

PEOPLE = 2
TURNS_BETWEEN = 1
"""Turns that end before the next step of the deployment."""

READS_BETWEEN = 6
"""Reads that are answered before it."""

FIRST = ("agent-turn", "heartbeat", "delivery")
"""The functions that are of the next release first; the others follow."""

VALUES = {"domain/conversation/session.py": "Session", "domain/agents/agent.py": "Agent"}
NEXT_FORM = """    stored_version: ClassVar[int] = 2
    stored_upgrades: ClassVar[Mapping[int, StoredUpgrade]] = {
        2: lambda body: {"tide": "low", **body}
    }
    tide: str = "high"
    id: Identifier
"""
IMPORTS = """
from collections.abc import Mapping
from typing import ClassVar
from opencrab.domain.value import StoredUpgrade
"""


@dataclass
class Load:
    """People who talk with an agent each, one who reads, and what they were answered."""

    stack: Stack
    turns: dict[str, str] = field(default_factory=dict)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def talk(self, session: str, person: int) -> None:
        """Say one thing after another, each once the one before is answered."""
        number = 0
        while not self.ended.is_set():
            number += 1
            word = f"wave-{person}-{number}-end"
            said = self._sure(
                "POST", f"/sessions/{session}/messages", word, {"text": f"say {word}"}
            )
            (turn_id,) = said.json["turn_ids"]
            story = self.stack.ended(turn_id, 120)
            if story["status"] != "completed":
                self.problems.append(f"{word}: {story}")
            self.turns[turn_id] = word

    def read(self, session: str, agent: str) -> None:
        """Read what a page shows, again and again."""
        paths = (f"/sessions/{session}/messages", "/sessions", "/agents", f"/agents/{agent}")
        while not self.ended.is_set():
            for path in paths:
                answer = self.stack.ask("GET", path)
                self.statuses["read", answer.status] += 1
                if answer.status != 200:
                    self.problems.append(f"GET {path}: {answer}")
                rest(0.5)

    def rename(self, session: str) -> None:
        """Change a stored value through the API, whichever release serves it."""
        self._sure("PATCH", f"/sessions/{session}", f"r-{time.monotonic()}", {"name": "潮だまり"})

    def _sure(self, method: str, path: str, key: str, body: dict[str, Any]) -> Answer:
        answer = self.stack.ask(method, path, body, idempotency_key=key)
        self.statuses[method, answer.status] += 1
        if answer.status >= 300:
            self.problems.append(f"{method} {path}: {answer}")
        return answer


@contextmanager
def under_load(stack: Stack) -> Iterator[tuple[Load, list[str]]]:
    """People at work from the begin to the end of the block; their load, and their sessions."""
    load, sessions, threads = Load(stack), list[str](), []

    def guarded(work: Callable[..., None], *given: Any) -> None:
        try:
            work(*given)
        except Exception as error:  # noqa: BLE001 - told by the test
            load.problems.append(f"{work.__name__}: {error!r}")

    for person in range(PEOPLE):
        agent = stack.agent(f"Nami{person}")
        sessions.append(stack.session(agent))
        threads.append(threading.Thread(target=guarded, args=(load.talk, sessions[-1], person)))
    agent = stack.agent("Umi")
    threads.append(threading.Thread(target=guarded, args=(load.read, sessions[-1], agent)))
    for thread in threads:
        thread.start()
    try:
        yield load, sessions
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()


def next_release(stack: Stack, folder: Path) -> bytes:
    """The layer of the next release, as a zip file."""
    tree = folder / "next"
    shutil.copytree(stack.built / "OpencrabLayer", tree)
    package = tree / "python" / "opencrab"
    for path, name in VALUES.items():
        module = package / path
        text = module.read_text(encoding="utf-8")
        head, own, tail = text.partition(f"class {name}(Value):")
        assert own
        before, first, after = tail.partition("    id: Identifier\n")
        assert first
        assert "\nclass " not in before
        docstring, rest_of_head = head.split('"""\n', 1)[0] + '"""\n', head.split('"""\n', 1)[1]
        module.write_text(
            docstring + IMPORTS + rest_of_head + own + before + NEXT_FORM + after, encoding="utf-8"
        )
        for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
            compiled.unlink()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for each in sorted(tree.rglob("*")):
            if each.is_file():
                archive.write(each, each.relative_to(tree))
    return packed.getvalue()


class Deployment:
    """The layers of the functions: each is of this release or of the next one."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self._client = stack.emulator.client("lambda")
        functions = self._client.list_functions(MaxItems=50)["Functions"]
        self._now = {
            each["FunctionName"]: [one["Arn"] for one in each.get("Layers", [])]
            for each in functions
            if any("-opencrab:" in one["Arn"] for one in each.get("Layers", []))
        }
        self.first = [stack.function(name) for name in FIRST]
        self.others = [name for name in self._now if name not in self.first]
        assert set(self.first) < set(self._now)
        made = self._client.publish_layer_version(
            LayerName="opencrab-next-opencrab",
            Content={"ZipFile": next_release(stack, folder)},
            CompatibleRuntimes=["python3.13"],
        )
        self._next = made["LayerVersionArn"]

    def bring(self, functions: list[str], *, is_next: bool) -> None:
        """Let functions be of the next release, or of this one."""
        for name in functions:
            layers = self._now[name]
            if is_next:
                layers = [self._next if "-opencrab:" in each else each for each in layers]
            self._client.update_function_configuration(FunctionName=name, Layers=layers)


def some_turns_later(load: Load) -> None:
    """Wait until more turns have ended, all of which began in what is deployed now, and reads."""
    wanted, deadline = len(load.turns) + PEOPLE + TURNS_BETWEEN, time.monotonic() + 240
    reads = load.statuses["read", 200] + READS_BETWEEN
    while len(load.turns) < wanted or load.statuses["read", 200] < reads:
        assert time.monotonic() < deadline, load.problems
        rest(0.2)


def assert_next_release_wrote(stack: Stack, sessions: list[str]) -> None:
    """Both stored values hold what only the next release knows, whichever wrote them last."""
    for session in sessions:
        assert "tide" in str(stack.item(f"SESSION#{session}", "S")), session


def test_a_rolling_deployment_back_and_again_loses_nothing(stack: Stack, tmp_path: Path) -> None:
    deployment = Deployment(stack, tmp_path)
    with under_load(stack) as (load, sessions):
        some_turns_later(load)
        for is_next in (True, False, True):
            for group in (deployment.first, deployment.others):
                deployment.bring(group, is_next=is_next)
                some_turns_later(load)
                load.rename(sessions[0])
            assert_next_release_wrote(stack, sessions)
    deployment.bring([*deployment.first, *deployment.others], is_next=False)
    assert load.problems == []
    assert {status for (what, status) in load.statuses if what == "read"} == {200}
    assert load.statuses["read", 200] > 40
    said = Counter[str]()
    for session in sessions:
        page = stack.told("GET", f"/sessions/{session}/messages?limit=200")["items"]
        said.update(each["text"] for each in page if each["kind"] == "speech")
    for word in load.turns.values():
        spoken = sum(count for text, count in said.items() if word in text and "say" not in text)
        assert spoken == 1, (word, said)
    assert len(load.turns) >= 7 * TURNS_BETWEEN
