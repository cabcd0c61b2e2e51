"""Cloud: the AWS account to which a page's reader deploys, which is the emulator's."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tests.deployed import emulator as ministack
from tests.deployed import stack as sam
from tests.deployed.emulator import OWNER, REGION, Emulator

SHOWN_ACCOUNT, SHOWN_URL = "123456789012", f"https://a1b2c3d4e5.execute-api.{REGION}.amazonaws.com"
"""What a page prints for the account and the API, which differ from run to run."""

START_SECONDS = 300
"""How long the functions may take until their first answer."""

_ACCOUNT = "000000000000"
_BELOW = "/_aws/execute-api/"
_SHOWN = (
    (re.compile(rf"https://\w+\.execute-api\.{REGION}\.amazonaws\.com"), SHOWN_URL),
    (re.compile(rf"http://127\.0\.0\.1:\d+{_BELOW}\w+/\$default"), SHOWN_URL),
    (
        re.compile(r"opencrab-main-Data-[\w-]+-OwnTable-\w+"),
        "opencrab-main-Data-1X2Y-OwnTable-3Z4W",
    ),
    (re.compile(_ACCOUNT), SHOWN_ACCOUNT),
)


@dataclass(frozen=True)
class Cloud:
    """An account without anything in it.

    Unlike AWS it deletes, with a stack that lies in another, also what such a stack says is to
    stay. So a page cannot show what its reader does with the table and the queues afterwards.
    """

    emulator: Emulator

    @property
    def environment(self) -> dict[str, str]:
        """The operator's credentials and region, and what makes the build run here."""
        return {
            **OWNER.environment(),
            **sam.built_for_this_computer(self.emulator.folder),
            "AWS_ENDPOINT_URL": self.emulator.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "SAM_CLI_TELEMETRY": "0",
            # Without the option the CLI asks for SQS at an address of its own.
            "BASH_FUNC_aws%%": '() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }',
        }

    def real(self, typed: str) -> str:
        """What is typed, with the account and the address that this run has."""
        if SHOWN_URL in typed:
            typed = typed.replace(SHOWN_URL, self._url())
        return typed.replace(SHOWN_ACCOUNT, _ACCOUNT)

    def shown(self, line: str) -> str:
        """A line of output as a page prints it."""
        for pattern, shown in _SHOWN:
            line = pattern.sub(shown, line)
        return line

    def _url(self) -> str:
        """Where the emulator serves the only API; quoted, since a dollar is in it."""
        found = self.emulator.client("apigatewayv2").get_apis()["Items"]
        if not found:
            return SHOWN_URL
        path = f"{_BELOW}{found[0]['ApiId']}/$default"
        self._start_functions(path)
        return f"'{self.emulator.url}{path}'"

    def _start_functions(self, path: str) -> None:
        """Ask the API and its authoriser once, and wait for the answer however long it takes.

        The emulator unpacks each function and its layers before the first answer, which takes half
        a minute on a slow computer. The page's address is one of this computer, so the commands
        expect an answer as quick as that of `opencrab up`.
        """
        for asked, headers in (("/api/health", {}), ("/api/setup", {"authorization": "Bearer x"})):
            connection = HTTPConnection("127.0.0.1", self.emulator.port, timeout=START_SECONDS)
            with closing(connection):
                connection.request("GET", f"{path}{asked}", headers=headers)
                connection.getresponse().read()


def why_not() -> str:
    """Why no page is deployed here; empty when one can be."""
    if shutil.which("aws") is None:
        return "there is no AWS CLI, which the page uses"
    return ministack.why_not() or sam.why_not()


@contextmanager
def cloud(folder: Path) -> Iterator[Cloud]:
    """An emulator from start to end, which trusts everybody: a page has no certificate."""
    with ministack.emulator(folder, is_strict=False) as made:
        yield Cloud(made)
