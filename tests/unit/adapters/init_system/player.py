"""Programs of an init system that are played: each answers as it is told, and is noted."""

from dataclasses import dataclass, field

from opencrab.ports.installation.init_system import ProgramResult, RunProgram


@dataclass
class ProgramPlayer:
    """Answers by the first words of a program that match; others end well and say nothing."""

    answers: dict[str, ProgramResult] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def __call__(self, program: RunProgram, shown: bool) -> ProgramResult:  # noqa: FBT001 - its type
        line = " ".join(program.words)
        (self.shown if shown else self.ran).append(line)
        found = (answer for start, answer in self.answers.items() if line.startswith(start))
        return next(found, ProgramResult(0))
