"""How much the tests try: a share in `make test`, all of it in `make soak`."""

import os
from collections.abc import Iterator

SOAK = os.environ.get("OPENCRAB_SOAK") == "1"  # noqa: TID251 - no setting of the product
TIMES = 10
"""So many times as many examples are tried of a property that names its own number."""

COUNTS: dict[str, tuple[int, int]] = {
    "examples of a property": (100, 1_000),
    "requests of schemathesis for each operation": (8, 100),
    "random schedules of the crash explorer": (400, 4_000),
    "random schedules of the crash explorer on AWS": (6, 300),
    "hostile questions to a limited search": (1_500, 100_000),
    "sequences of paths in a workspace": (300, 100_000),
    "seeds of ten strange paths each": (2_000, 20_000),
    "kills of a whole installation under load": (6, 200),
    "kills of answers that are aborted as they stream": (3, 50),
    "kills of who publishes snapshots": (20, 40),
    "notes": (40, 1_000),
    "rulings on what an agent may do": (150, 2_000),
    "lessons and skills": (60, 1_000),
    "strange addresses": (200, 5_000),
    "text fields of actions": (10, 130),
    "random actions with keys": (10_000, 100_000),
    "worlds in which an agent learns": (1, 4),
    "lines of a session that a small real model summarises": (16, 64),
}
"""What is counted: the share, and the whole."""

SAMPLED = (
    "tests of the engine in the home on AWS, too",
    "kills around every action and compaction, before and after each call",
    "kills of a task at every step, in both homes",
    "calls at which a publisher of an index dies, half of them before and half after",
    "troubles of Discord at every point of every scene",
    "choices of parameters in which a broken rule of the templates is looked for",
    "colours of the dark dashboard in Japanese as well",
    "slugs that a tainted turn writes",
    "kills of forgetting after every write",
    "questions of all retrieval sets, and those that take minutes",
    "the whole stack's life in the emulator, with make test-deployed",
)
"""What is tried at some places in `make test`, and at every place in `make soak`."""


def count(name: str) -> int:
    """How often this is tried now."""
    share, whole = COUNTS[name]
    return whole if SOAK else share


def examples(share: int) -> int:
    """How many examples of a property are tried now, where `make test` tries a share."""
    return share * TIMES if SOAK else share


def told() -> Iterator[str]:
    """What a soak tries, line by line."""
    for name, (share, whole) in COUNTS.items():
        yield f"{whole:>7,} {name}, rather than {share:,}"
    yield f"{TIMES:>7,} times as many examples where a property names its own number"
    yield from (f"    all {what}" for what in SAMPLED)
