"""A page of the documentation: its blocks that can be run, and what each step of them prints.

A ```console block is a terminal: a line that begins with `$ ` is a command, one that begins with a
program's own prompt is an answer to that program, `^C` is Ctrl-C; all other lines are output. A
command that ends with a backslash goes on in the next line. A line `...` stands for any lines. A
```discord block is something that is typed on Discord, and what is shown there afterwards.
Blocks of any other kind are not run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SHELL = "$ "
PROMPTS = (SHELL, "you> ", "あなた> ")
CTRL_C = "^C"
GAP = "..."
KINDS = ("console", "discord")

_FENCE = re.compile(r"^( *)```(\w*)")


@dataclass(frozen=True)
class Step:
    """Something that is typed, and the output that the page prints after it."""

    prompt: str
    typed: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The step as the page prints it."""
        first, *more = self.typed
        return (f"{self.prompt}{first}", *more, *self.output)


@dataclass(frozen=True)
class Block:
    """One fenced block: where its content lies in the page, and its steps."""

    kind: str
    first: int
    end: int
    indent: str
    steps: tuple[Step, ...]

    @property
    def is_interrupt(self) -> bool:
        """Whether it begins in a terminal in which a program runs."""
        return self.steps[0].typed == (CTRL_C,)


@dataclass(frozen=True)
class Page:
    """A page and the blocks of it that can be run."""

    path: Path
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def language(self) -> str:
        """The language that its name says."""
        return "ja" if self.path.name.endswith(".ja.md") else "en"

    @property
    def deploys(self) -> bool:
        """Whether its reader deploys to AWS."""
        steps = (step for block in self.blocks for step in block.steps)
        return any(step.typed[0].startswith("make deploy") for step in steps)

    def text_with(self, recorded: Mapping[int, Sequence[Step]]) -> str:
        """The page's text with other steps in some blocks, which are named by their number."""
        lines = list(self.lines)
        for number, block in reversed(list(enumerate(self.blocks))):
            steps = recorded.get(number, block.steps)
            new = [f"{block.indent}{line}".rstrip() for step in steps for line in step.lines]
            lines[block.first : block.end] = new
        return "".join(f"{line}\n" for line in lines)


def read_page(path: Path) -> Page:
    """A page from its file."""
    lines = tuple(path.read_text(encoding="utf-8").splitlines())
    return Page(path, lines, tuple(_blocks(lines)))


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    fences = [(number, found) for number, line in enumerate(lines) if (found := _FENCE.match(line))]
    for (start, fence), (end, _) in list(pairwise(fences))[::2]:
        indent, kind = fence.groups()
        if kind not in KINDS:
            continue
        content = [line.removeprefix(indent) for line in lines[start + 1 : end]]
        yield Block(kind, start + 1, end, indent, tuple(_steps(kind, content)))


def _steps(kind: str, content: Sequence[str]) -> Iterator[Step]:
    if kind == "discord":
        yield Step("", (content[0],), tuple(content[1:]))
        return
    starts = [number for number, line in enumerate(content) if _prompt(line) is not None]
    assert starts[:1] == [0], f"a block must begin with what is typed: {content[:1]}"
    for start, end in pairwise([*starts, len(content)]):
        yield _step(content[start:end])


def _step(lines: Sequence[str]) -> Step:
    prompt = _prompt(lines[0]) or ""
    length = 1 + next(n for n, line in enumerate(lines) if not line.endswith("\\"))
    typed = (lines[0].removeprefix(prompt), *lines[1:length])
    return Step(prompt, typed, tuple(lines[length:]))


def _prompt(line: str) -> str | None:
    """What stands before the words that are typed in a line; None in a line of output."""
    if line == CTRL_C:
        return ""
    return next((each for each in PROMPTS if f"{line} ".startswith(each)), None)
