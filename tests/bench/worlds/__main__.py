"""Regret of ours and of the textbook's learners: `python -m tests.bench.worlds --seeds 1-10`.

Each life is appended to a file as it ends, and a run goes on where the last one stopped. It prints
a table over the families asked for with 95 % intervals, the fates of skills, and how many credible
intervals hold the truth. Seeds from SEALED on are for one look after all choices are made.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from pathlib import Path

from tests.bench.worlds.families import FAMILIES, SEALED
from tests.bench.worlds.run import NIGHTS, Lived, live
from tests.bench.worlds.textbook import RULES

OURS, GREEDY = "ours", "greedy"
Key = tuple[str, int, str, int]
Found = dict[Key, Lived]


def lived(key: Key) -> tuple[Key, Lived]:
    """One life, with its name."""
    return key, live(*key)


def main(said: Sequence[str] | None = None) -> None:
    """Live what is missing, and print the table."""
    asked = _arguments().parse_args(said)
    families = asked.families.split(",")
    first, last = (int(each) for each in asked.seeds.split("-"))
    if first < SEALED <= last:
        raise SystemExit(
            f"seeds {asked.seeds}: tuning seeds end before {SEALED}, sealed ones begin"
        )
    groups = {"all": (OURS, *RULES), "textbook": tuple(RULES)}
    rules = groups.get(asked.rules) or tuple(asked.rules.split(","))
    keys = [
        (family, seed, rule, asked.nights)
        for seed in range(first, last + 1)
        for family in families
        for rule in rules
    ]
    found = dict(_read(asked.results))
    missing = [key for key in keys if key not in found]
    with ProcessPoolExecutor(asked.jobs) as pool:
        for key, each in pool.map(lived, missing):
            found[key] = each
            if asked.results:
                with asked.results.open("a") as file:
                    file.write(json.dumps({"key": key, **vars(each)}) + "\n")
    kind = "sealed" if first >= SEALED else "tuning"
    sys.stdout.write(f"{kind} seeds {asked.seeds}, {asked.nights} nights\n\n")
    wanted = set(keys)
    sys.stdout.write(page({key: each for key, each in found.items() if key in wanted}))


def _arguments() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tests.bench.worlds")
    found.add_argument("--families", "--family", default=",".join(FAMILIES))
    found.add_argument(
        "--seeds", default="1-5", help=f"first-last; from {SEALED} on they are sealed"
    )
    found.add_argument("--rules", default="all", help="all, textbook, or names")
    found.add_argument("--nights", type=int, default=NIGHTS)
    found.add_argument("--jobs", type=int, default=1)
    found.add_argument("--results", type=Path, help="a file of lives, appended to and read again")
    return found


def _read(path: Path | None) -> Iterator[tuple[Key, Lived]]:
    """Yield the lives in a file; a line that was cut off is lived again."""
    if path is None or not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            continue
        family, seed, rule, nights = told.pop("key")
        yield (family, seed, rule, nights), Lived(**told | {"fates": Counter(told["fates"])})


def page(found: Found) -> str:
    """Return the table, and what became of skills, over these lives."""
    families = [name for name in FAMILIES if any(key[0] == name for key in found)]
    rules = [name for name in (OURS, *RULES) if any(key[2] == name for key in found)]
    lines = ["| family | " + " | ".join(rules) + " | ratio |", "|---" * (len(rules) + 2) + "|"]
    ratios = list[float]()
    for family in families:
        lives = {rule: _lives(found, family, rule) for rule in rules}
        best = min((_mean(each) for rule, each in lives.items() if rule != OURS), default=0.0)
        ratio = _mean(lives.get(OURS, ())) / best if best else 0.0
        ratios.append(ratio)
        cells = " | ".join(_cell(lives[rule]) for rule in rules)
        lines.append(f"| {family} | {cells} | {ratio:.2f} |")
    ours = [each for key, each in found.items() if key[2] == OURS]
    lines += ["", f"ours / best of the others, mean over families: {_average(ratios):.3f}"]
    return "\n".join([*lines, *_against_greedy(found), *_told(ours)]) + "\n"


def _lives(found: Found, family: str, rule: str) -> list[Lived]:
    return [each for key, each in found.items() if (key[0], key[2]) == (family, rule)]


def _against_greedy(found: Found) -> Iterator[str]:
    pairs = [
        (each, other)
        for (family, seed, rule, nights), each in found.items()
        if rule == OURS and (other := found.get((family, seed, GREEDY, nights)))
    ]
    won = sum(each.regret < other.regret for each, other in pairs)
    yield f"better than greedy in {won} of {len(pairs)} worlds"
    for name in FAMILIES:
        more = [a.first - b.first for a, b in pairs if a.family == name]
        if more:
            yield f"first third of the nights, ours less greedy, {name}: {_average(more):+.2f}"


def _told(lives: Sequence[Lived]) -> Iterator[str]:
    """Yield what became of skills and intervals."""
    held, of = sum(each.held for each in lives), sum(each.intervals for each in lives)
    yield f"intervals that hold the truth: {held} of {of} ({100 * held / max(of, 1):.1f} %)"
    yield f"days over budget: {sum(each.over_budget for each in lives)}"
    fates = sum((each.fates for each in lives), Counter[str]())
    for kind in sorted({name.partition(": ")[0] for name in fates}):
        parts = {name: n for name, n in fates.items() if name.partition(": ")[0] == kind}
        whole = sum(parts.values())
        shares = (
            f"{name.partition(': ')[2]} {n} ({100 * n / whole:.1f} %)"
            for name, n in sorted(parts.items())
        )
        yield f"{kind}, {whole}: {', '.join(shares)}"


def _cell(lives: Sequence[Lived]) -> str:
    values = [each.regret for each in lives]
    mean = _average(values)
    spread = sum((each - mean) ** 2 for each in values) / max(len(values) - 1, 1)
    early = _average([each.first for each in lives])
    return f"{mean:.2f} ± {1.96 * sqrt(spread / max(len(values), 1)):.2f} ({early:.1f})"


def _mean(lives: Iterable[Lived]) -> float:
    return _average([each.regret for each in lives])


def _average(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    main()
