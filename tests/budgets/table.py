"""Counts beside their ceilings: which are over, and which ceilings hold nothing any more."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.budgets import loading, turns

CEILINGS = Path(__file__).with_name("ceilings.toml")
SLACK = 1.05
"""How far above its count a ceiling may stand: what is won is kept, a line more is no failure."""

Number = int | float


@dataclass(frozen=True)
class Budget:
    """One count beside its ceiling."""

    part: str
    name: str
    count: Number
    ceiling: Number | None

    @property
    def complaint(self) -> str | None:
        """What is to be done, or None when all is well."""
        what = f"[{self.part}] {self.name}"
        if self.ceiling is None:
            return f"{what} = {self.count:g} has no ceiling: write one"
        if self.count > self.ceiling:
            return f"{what} = {self.count} is over its ceiling of {self.ceiling}: make it less, \
or raise the ceiling and say why in the same commit"
        if self.ceiling > self.count * SLACK:
            return f"{what} = {self.count} is well below its ceiling of {self.ceiling}: lower it \
(python -m tests.budgets --lower)"
        return None

    def __str__(self) -> str:
        verdict = "yes" if self.complaint is None else "**no**"
        return f"| {self.part} | {self.name} | {self.count} | {self.ceiling} | {verdict} |"


def ceilings(path: Path = CEILINGS) -> dict[str, dict[str, Number]]:
    """Every ceiling by part and name."""
    found: dict[str, dict[str, Number]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return found


def counts() -> dict[str, dict[str, Number]]:
    """Everything counted now."""
    programs = {
        f"imports_{name}": dict[str, Number](loading.loaded(program).counts())
        for name, program in loading.PROGRAMS.items()
    }
    return programs | turns.counted()


def beside(
    counted: Mapping[str, Mapping[str, Number]], limits: Mapping[str, Mapping[str, Number]]
) -> list[Budget]:
    """Each count with its ceiling."""
    return [
        Budget(part, name, count, limits.get(part, {}).get(name))
        for part, found in counted.items()
        for name, count in found.items()
    ]


def uncounted(
    counted: Mapping[str, Mapping[str, Number]], limits: Mapping[str, Mapping[str, Number]]
) -> set[str]:
    """Ceilings of what nobody counts."""
    named = {f"{part}.{name}" for part, each in limits.items() for name in each}
    return named - {f"{part}.{name}" for part, each in counted.items() for name in each}


def lowered(text: str, budgets: list[Budget]) -> str:
    """The file of ceilings with those lowered that stand above their counts; comments stay."""
    for each in budgets:
        if each.ceiling is None or each.count >= each.ceiling:
            continue
        row = re.compile(rf"(^\[{each.part}\]\n(?:[^\[].*\n|\n)*?{each.name} = )[\d._]+", re.M)
        text, found = row.subn(rf"\g<1>{each.count}", text)
        assert found == 1, f"no line for {each.part}.{each.name}"
    return text


def table(budgets: list[Budget]) -> str:
    """All of them for people."""
    head = "| part | what | count | ceiling | kept |\n|---|---|---|---|---|\n"
    return head + "\n".join(map(str, budgets)) + "\n"
