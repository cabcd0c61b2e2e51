"""A model server that starts later is looked for until it is found."""

import threading

from opencrab.gateways.local.model_watch import ModelWatch


def test_it_looks_until_something_is_found_and_a_failure_ends_nothing() -> None:
    looks: list[int] = []
    found = threading.Event()

    def look() -> bool:
        looks.append(1)
        if len(looks) == 1:
            raise OSError("no network")
        if len(looks) == 3:
            found.set()
        return found.is_set()

    with ModelWatch(look, look_seconds=0):
        assert found.wait(30)
    assert len(looks) == 3
