"""A server that answers what a test tells it, and the program run against it, in this process."""

import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from opencrab.bootstrap.configuration.local_configuration import LocalConfiguration
from opencrab.bootstrap.local.doctor import (
    check_local_settings_together,
    is_local_model_priced,
    probe_local_provider,
)
from opencrab.domain.access.instance import CHALLENGE_HEADER, instance_access_proof
from opencrab.domain.usage.aws_cost import PriceSheet
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import NewestPrices, Options, UpOptions
from opencrab.ports.demo_world import DemoWorldProcess

CTRL_C = "\x03"
"""A line that is no line: the person presses Ctrl-C."""

_SILENT = ("OPENCRAB_URL", "OPENCRAB_KEY", "OPENCRAB_OWNER_KEY", "OPENCRAB_DATA")
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG", "VISUAL", "EDITOR", "XDG_STATE_HOME")

INSTANCE = "the secret of this server"
"""What the server knows of its data folder; it answers every challenge, which no test counts."""

Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


def ok(value: Any, status: int = 200) -> httpx.Response:
    """A value as OpenCrab sends it."""
    return httpx.Response(status, json=value)


def page(*items: Any, next_cursor: str | None = None) -> httpx.Response:
    """One page of a list."""
    return ok({"items": items, "next_cursor": next_cursor})


def problem(status: int, detail: str, **more: Any) -> httpx.Response:
    """A problem document."""
    headers = {"Content-Type": "application/problem+json"}
    content = json.dumps({"status": status, "detail": detail, **more})
    return httpx.Response(status, content=content, headers=headers)


@dataclass
class Server:
    """Answers by method and path; the last answer of a route stays, and every request is kept."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    def on(self, route: str, *answers: Answer) -> None:
        """Answer a route such as `GET /agents` with these, one after the other."""
        self.answers[route] = list(answers)

    def handle(self, request: httpx.Request) -> httpx.Response:
        """What a transport does with a request."""
        if CHALLENGE_HEADER in request.headers:
            return ok({"proof": instance_access_proof(INSTANCE, request.headers[CHALLENGE_HEADER])})
        self.requests.append(request)
        raw = request.url.raw_path.decode().partition("?")[0]
        waiting = self.answers.get(f"{request.method} {raw.removeprefix('/api')}")
        if waiting is None:
            return problem(404, f"{request.method} {raw} is not known here")
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return httpx.Response(
                answer.status_code, content=answer.content, headers=answer.headers
            )
        return answer(request)

    def sent(self, method: str) -> list[Any]:
        """The bodies of all requests with a method, in order."""
        return [
            json.loads(request.content) for request in self.requests if request.method == method
        ]


@dataclass(frozen=True)
class Said:
    """What a command left: its exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON value that it is."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


class Screen(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


class Keyboard(io.StringIO):
    """A person's lines, one by one."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = list(lines)

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        if not self._lines:
            return ""
        line = self._lines.pop(0)
        if line == CTRL_C:
            raise KeyboardInterrupt
        return f"{line}\n"


@dataclass
class Program:
    """The program beside a server; `data` is the data folder that it is told."""

    server: Server
    data: Path
    patch: pytest.MonkeyPatch
    environment: dict[str, str] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)
    launched: list[UpOptions] = field(default_factory=list)
    exit_code: int = 0
    sheet: Callable[[], PriceSheet] | None = None
    now: Callable[[], datetime] | None = None
    prices: NewestPrices | None = None
    demo_world: Callable[[Path, int], DemoWorldProcess] | None = None

    def run(self, *args: str, typed: str | bytes = "", **environment: str) -> Said:
        """A command as a script runs it: nobody looks, and a pipe speaks."""
        variables = self._variables(environment)
        with CliRunner().isolation(input=typed, env=variables) as (out, err, _):
            code = self._ended(args, environment)
            sys.stdout.flush()
            sys.stderr.flush()
            return Said(code, out.getvalue().decode(), err.getvalue().decode())

    def sit(self, *args: str, typed: Sequence[str] = (), **environment: str) -> Said:
        """A command as a person runs it, who types these lines and then Ctrl-D."""
        out, err = Screen(), Screen()
        with self.patch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name, value in self._variables(environment).items():
                if value is None:
                    patch.delenv(name, raising=False)
                else:
                    patch.setenv(name, value)
            patch.setattr(sys, "stdin", Keyboard(typed))
            code = self._ended(args, environment)
        return Said(code, out.getvalue(), err.getvalue())

    def _ended(self, args: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run the command; its exit code."""
        names = ("sheet", "now", "prices", "demo_world")
        given = (name for name in names if getattr(self, name) is not None)
        spoken = {**self.environment, **environment}
        locale = (spoken.get(name, "") for name in _LOCALE)
        said = (word.rpartition("=")[2] for word in args)
        asked = (*locale, *(word for word in said if word in {"ja", "en"}))
        command, stage = _built(frozenset(given), asked)
        stage.program = self
        with pytest.raises(SystemExit) as ended:
            command(list(args), prog_name="opencrab")
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return code or 0

    def _variables(self, more: Mapping[str, str]) -> dict[str, str | None]:
        silent: dict[str, str | None] = dict.fromkeys((*_SILENT, *_LOCALE))
        places = {
            "OPENCRAB_DATA": str(self.data),
            "XDG_STATE_HOME": str(self.data.parent / "state"),
            "XDG_CONFIG_HOME": str(self.data.parent / "config"),
            "XDG_DATA_HOME": str(self.data.parent / "share"),
            "TERM": "dumb",
            "COLUMNS": "200",
        }
        return {**silent, **places, **self.environment, **more}


@dataclass
class _Stage:
    """The program whose turn it is."""

    program: Program

    def launch(self, options: UpOptions, /) -> int:
        """Note what `opencrab up` would launch."""
        self.program.launched.append(options)
        return self.program.exit_code

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Let this program's server answer."""
        return self.program.server.handle(request)

    def pause(self, seconds: float) -> None:
        """Note a pause."""
        self.program.pauses.append(seconds)

    def outside(self, name: str) -> Any:
        """What this program was given under a name, asked only when it is used."""

        def call(*args: Any, **named: Any) -> Any:
            return getattr(self.program, name)(*args, **named)

        return call


@cache
def _built(given: frozenset[str], _language: tuple[str, ...]) -> tuple[Any, _Stage]:
    """The hundred commands: to put them together takes longer than most tests of one.

    Apart for each language, since a page of help that was shown stays in its language.
    """
    stage = _Stage(cast("Program", None))
    outside = Options(
        transport=httpx.MockTransport(stage.handle),
        pause=stage.pause,
        configuration=lambda paths: LocalConfiguration(
            paths,
            check_local_settings_together,
            probe_local_provider,
            is_local_model_priced,
        ),
        **{name: stage.outside(name) for name in given},
    )
    return get_command(build_cli_app(stage.launch, outside)), stage
