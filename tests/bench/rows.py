"""A figure as a line of docs/benchmarks.md."""

from dataclasses import dataclass

HEAD = "| what | figure | target | met |\n|---|---|---|---|\n"


@dataclass(frozen=True)
class Row:
    """One figure, its unit, and what it should not exceed, or not stay below (`at_least`)."""

    what: str
    figure: float
    unit: str
    target: float | None = None
    at_least: bool = False

    def __str__(self) -> str:
        figure = f"{self.figure:,.0f}" if abs(self.figure) >= 1_000 else f"{self.figure:.3g}"
        shown = f"| {self.what} | {figure} {self.unit}".rstrip()
        if self.target is None:
            return f"{shown} | | |"
        met = self.figure >= self.target if self.at_least else self.figure <= self.target
        bound = f"≥ {self.target:,g}" if self.at_least else f"≤ {self.target:,g}"
        return f"{shown} | {bound} | {'yes' if met else '**no**'} |"


def lines(rows: list[Row]) -> str:
    """Rows below a head that is already there."""
    return "\n".join(map(str, rows))
