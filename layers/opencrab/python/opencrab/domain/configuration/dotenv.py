"""The variables of a file `.env`: lines `NAME=value`, with a shell's quotes and comments."""

import re
from collections.abc import Mapping

_LINE = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*
    (?:
        "((?:[^"\\]|\\.)*)"
        |'([^']*)'
        |((?:[^"'\s\#](?:[^\#]|(?<=\S)\#)*?)?)
    )\s*(?:(?<=\s)\#.*|(?<=[="'])\#.*)?""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv_text(text: str) -> tuple[Mapping[str, str], tuple[int, ...]]:
    """Return the variables, and the numbers of the lines that set none and are no comments."""
    variables: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            wrong.append(number)
            continue
        name, quoted, literal, plain = found.groups()
        if quoted is not None:
            value = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted)
        else:
            value = literal if literal is not None else plain
        variables[name] = value
    return variables, tuple(wrong)
