"""`kill -9` of `opencrab up` under load: all that was begun is done, and done once."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.bench.world import model_server
from tests.integration.local.examining import examine
from tests.integration.local.killing import ANYTIME, KINDS, Installation, tally
from tests.running import Server, opencrab, server
from tests.soak import count

KILLS_A_DAY = 10
MOST_NIGHTS = 3
SEED = 21

CLIENTS = 6
IMPATIENT_KILLS = 4
READY_SECONDS = 0.25
SLOW_SECONDS = 1.0
PATIENCE_SECONDS = 200

SHARE = (("turn", "delivery", "summary"), ("night", "words", ANYTIME))
"""The kills of `make test`, by day: the first night falls after the first day."""


@pytest.mark.timeout(3_600)
def test_all_work_is_done_once_however_often_the_process_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages, answers, Discord's posts, summaries, nights, their words, and the bill for them."""
    up = Installation(tmp_path / "data", SEED)
    with up.outside():
        for day in _days(count("kills of a whole installation under load")):
            for aim in day:
                up.die(aim)
            up.rest()
            opencrab("verify", up.data)
        for _ in range(MOST_NIGHTS):
            if tally(up.kills)["night"]:
                break
            up.die("night")
            up.rest()
        figures = examine(up)
    struck = tally(up.kills)
    with capsys.disabled():
        if len(up.kills) > KILLS_A_DAY:
            sys.stdout.write(f"\n{len(up.kills)} kills struck {dict(struck)}: {figures}\n")
    assert set(KINDS) <= struck.keys()
    assert all(person.acknowledged for person in up.people)
    opencrab("verify", up.data)


def _days(kills: int) -> Iterator[tuple[str, ...]]:
    """What each kill shall strike; a day begins with the night after the one before."""
    if kills == sum(map(len, SHARE)):
        yield from SHARE
        return
    chance = Random(SEED)  # noqa: S311 - the same kills each time
    for day in range(kills // KILLS_A_DAY):
        first = ("night", *chance.choices(("night", "words"), k=2), "words") if day else ()
        others = chance.choices(("turn", "summary", "delivery", ANYTIME), k=KILLS_A_DAY)
        yield (*first, *others)[:KILLS_A_DAY]


@pytest.mark.timeout(600)
def test_kills_as_soon_as_it_is_ready_fail_no_message_however_slow_the_model(
    tmp_path: Path,
) -> None:
    """No model call has the time to return: on a slow machine that is every restart."""
    with model_server(SLOW_SECONDS) as model_url:
        turns = _acknowledged(tmp_path / "data", model_url)
        for _ in range(IMPATIENT_KILLS):
            with server(tmp_path / "data", model_url=model_url) as running:
                time.sleep(READY_SECONDS)
                running.process.kill()
        with server(tmp_path / "data", model_url=model_url) as running:
            ends = _ends(running, turns)
    assert ends == {"completed": CLIENTS}


def _acknowledged(data: Path, model_url: str) -> list[str]:
    """A message to each of several agents, taken and killed before any of them is answered."""
    with server(data, model_url=model_url) as running:
        sessions = [running.session(f"蟹{number}") for number in range(CLIENTS)]
        body = {"text": "買い物メモに書いて"}
        turns = [
            running.call("POST", f"/sessions/{session_id}/messages", body)["turn_ids"][0]
            for session_id in sessions
        ]
        time.sleep(READY_SECONDS)
        running.process.kill()
    return turns


def _ends(running: Server, turns: list[str]) -> Counter[str]:
    """How turns end, for which there is more than enough time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        ends = Counter(running.call("GET", f"/turns/{turn}")["status"] for turn in turns)
        if not {"queued", "running"} & ends.keys() or time.monotonic() > deadline:
            return ends
        time.sleep(0.2)
