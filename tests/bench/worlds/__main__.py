"""Regret of ours and of the textbook's learners: `python -m tests.bench.worlds [SEEDS] [--sealed]`.

It prints a table over all families with 95 % intervals, the fates of skills, and how many credible
intervals hold the truth. Sealed seeds are for one look after all choices are made.
"""

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from math import sqrt

from tests.bench.worlds.families import FAMILIES, SEALED
from tests.bench.worlds.run import NIGHTS, Lived, live
from tests.bench.worlds.textbook import RULES

Key = tuple[str, int, str, int]


def measured(key: Key) -> tuple[Key, Lived]:
    """One life, with its name."""
    family, seed, rule, nights = key
    return key, live(family, seed, rule, nights)


def main() -> None:
    """Measure and print."""
    said = argparse.ArgumentParser()
    said.add_argument("seeds", nargs="?", type=int, default=30)
    said.add_argument("--nights", type=int, default=NIGHTS)
    said.add_argument("--sealed", action="store_true")
    said.add_argument("--families", default=",".join(FAMILIES))
    asked = said.parse_args()
    families = asked.families.split(",")
    first = SEALED if asked.sealed else 1
    keys = [
        (family, first + seed, rule, asked.nights)
        for family in families
        for seed in range(asked.seeds)
        for rule in ("ours", *RULES)
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(pool.map(measured, keys))
    sys.stdout.write(_page(families, found))


def _page(families: list[str], found: dict[Key, Lived]) -> str:
    rules = ("ours", *RULES)
    lines = ["| family | " + " | ".join(rules) + " |", "|---" * (len(rules) + 1) + "|"]
    ratios, won = [], [0, 0]
    for family in families:
        means = dict[str, float]()
        cells = []
        for rule in rules:
            regrets = [each.regret for key, each in found.items() if key[::2] == (family, rule)]
            early = [each.first for key, each in found.items() if key[::2] == (family, rule)]
            means[rule] = sum(regrets) / len(regrets)
            cells.append(f"{_interval(regrets)} ({sum(early) / len(early):.1f})")
        ratios.append(means["ours"] / min(means[rule] for rule in RULES))
        lines.append(f"| {family} | " + " | ".join(cells) + f" | {ratios[-1]:.2f}")
        for key, each in found.items():
            if key[::2] == (family, "ours"):
                won[0] += each.regret < found[family, key[1], "greedy", key[3]].regret
                won[1] += 1
    lives = [each for key, each in found.items() if key[2] == "ours"]
    fates = sum((each.fates for each in lives), Counter[str]())
    held, of = sum(each.held for each in lives), sum(each.intervals for each in lives)
    lines += [
        "",
        f"ours / best of the others, mean over families: {sum(ratios) / len(ratios):.3f}",
        f"better than greedy in {won[0]} of {won[1]} worlds",
        f"intervals that hold the truth: {held} of {of}",
        f"days over budget: {sum(each.over_budget for each in lives)}",
        *(f"{name}: {count}" for name, count in sorted(fates.items())),
    ]
    return "\n".join(lines) + "\n"


def _interval(values: list[float]) -> str:
    mean = sum(values) / len(values)
    spread = sum((each - mean) ** 2 for each in values) / max(len(values) - 1, 1)
    return f"{mean:.2f} ± {1.96 * sqrt(spread / len(values)):.2f}"


if __name__ == "__main__":
    main()
