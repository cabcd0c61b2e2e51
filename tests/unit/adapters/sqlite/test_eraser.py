"""Dead letters of a person, taken away with everything else of that person."""

from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.line.fake import GUEST, OWNER


@pytest.mark.parametrize(
    ("person_id", "left"),
    [
        (f"line-{OWNER}", ["guest", "discord"]),
        (f"line-{GUEST}", ["owner", "discord"]),
        ("discord-140000", ["owner", "guest"]),
        ("discord-14000", ["owner", "guest", "discord"]),
        (f"line-{OWNER[:20]}", ["owner", "guest", "discord"]),
        ("slack-140000", ["owner", "guest"]),
        ("owner", ["owner", "guest", "discord"]),
        ("line-.*", ["owner", "guest", "discord"]),
    ],
)
def test_only_letters_of_the_person_go(tmp_path: Path, person_id: str, left: list[str]) -> None:
    bodies = {"owner": f'{{"userId":"{OWNER}"}}', "guest": f'{{"userId":"{GUEST}"}}'}
    bodies["discord"] = '{"user":{"id":"140000"}}'
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        queue = home.interactions
        assert queue is not None
        for body in bodies.values():
            queue.dead_letter(body, group="g", reason="?")
        home.eraser.drop_letters(person_id)
        kept = {body for body, _ in queue.list_dead_letters(9)}
        assert [name for name, body in bodies.items() if body in kept] == left
