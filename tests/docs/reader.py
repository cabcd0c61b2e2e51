"""A reader: follows a page step by step, and says where it prints something else than happens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import unified_diff

from tests.docs.page import Block, Page, Step
from tests.docs.terminal import ScreenTimeoutError, Terminal
from tests.docs.varying import Comparison
from tests.docs.workplace import Workplace

Play = Callable[[str], list[str]]
"""What is typed on Discord, to the lines that are seen there afterwards."""

TypeIn = Callable[[tuple[str, ...]], list[str]]

SECONDS = 60.0


@dataclass
class Reader:
    """Follows one page; `differences` holds what is printed wrongly, `recorded` what is right."""

    page: Page
    place: Workplace
    play: Play | None = None
    seconds: float = SECONDS
    more: dict[str, str] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    recorded: dict[int, list[Step]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._terminals: list[Terminal] = []
        self._comparison = Comparison(lent=not self.place.is_fresh)

    def follow(self) -> None:
        """Do what the page says, to its end or to where a program does not come to its own."""
        with self._closed_at_the_end():
            for number, block in enumerate(self.page.blocks):
                self.recorded[number] = []
                type_in = self._play if block.kind == "discord" else self._terminal(block).type
                for step in block.steps:
                    self.recorded[number].append(self._take(block, step, type_in))

    def _take(self, block: Block, step: Step, type_in: TypeIn) -> Step:
        typed = tuple(self._comparison.real(self.place.real(line)) for line in step.typed)
        actual = [self.place.shown(line) for line in type_in(typed)]
        if self._comparison.is_same(step.output, actual):
            return step
        corrected = replace(step, output=self._comparison.merged(step.output, actual))
        name = f"{self.page.path.name}:{block.first + 1}"
        shown = unified_diff(
            step.lines, corrected.lines, f"{name} as printed", "as it is", lineterm="", n=99
        )
        self.differences.append("\n".join(shown))
        return corrected

    def _play(self, typed: tuple[str, ...]) -> list[str]:
        assert self.play is not None, "nobody plays Discord for this page"
        return self.play(typed[0])

    def _terminal(self, block: Block) -> Terminal:
        """Where a block goes on: its program's terminal, or one that waits for a command."""
        for terminal in reversed(self._terminals):
            if terminal.is_busy == block.is_interrupt:
                return terminal
        assert not block.is_interrupt, "nothing runs that could be interrupted"
        environment = {**self.place.environment(self.page.language), **self.more}
        self._terminals.append(Terminal(self.place.checkout, environment, self.seconds))
        return self._terminals[-1]

    @contextmanager
    def _closed_at_the_end(self) -> Iterator[None]:
        try:
            yield
        except ScreenTimeoutError as error:
            self.differences.append(f"{self.page.path.name}: this did not end:\n{error}")
        finally:
            for terminal in reversed(self._terminals):
                terminal.close()
