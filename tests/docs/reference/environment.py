"""The page of all environment variables that the product, its deployment and its tests read."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import typer.main

from opencrab.bootstrap.local import command
from opencrab.domain.value import Language
from opencrab.gateways.cli.app import build_cli_app
from tests.architecture.source import Module, modules
from tests.conftest import ROOT
from tests.docs.reference import configuration
from tests.docs.reference.cloudformation import stacks
from tests.docs.reference.section import Section, text_of

_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+_?")
_IN_SETTING = re.compile(r"\$\{(\w+)\}")
_OF_TESTS = re.compile(r'"(OPENCRAB_(?:[A-Z0-9]+_)*[A-Z0-9]+)"')
_OF_MAKE = re.compile(
    r"^(?:[\w\s-]+: )?export ([A-Z_]+)|^([A-Z_]+) \?=|\b([A-Z_]+)=\d\b", re.MULTILINE
)
_USED_BY_MAKE = re.compile(r"\$\(([A-Z_]+)\)")
_MADE = re.compile(r"^([A-Z_]+) :?=", re.MULTILINE)
_BY_MAKE_ITSELF = {"MAKE", "MAKEFILE_LIST"}
_NO_VARIABLES = {"CAPABILITY_AUTO_EXPAND", "CAPABILITY_IAM"}
_OWNER = "OPENCRAB_OWNER_KEY"
"""Read by the command, as the key to use, and by the server, as the key to expect."""

_BY_LIBRARIES = {
    "getproxies(": ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    "httpx.create_ssl_context": ("SSL_CERT_FILE", "SSL_CERT_DIR"),
    "rich.console import Console": ("COLUMNS",),
}
"""What libraries read for us, by the words in our code that make them do so."""


def page(language: Language) -> str:
    """The page in one language."""
    return text_of("environment", sections(language), language)


def sections(_language: Language) -> list[Section]:
    """Everything that the page has."""
    keys = {name: (f"`{name}`", _codes(used)) for name, used in keys_in_settings().items()}
    given = {name: (f"`{name}`", *cells) for name, cells in given_to_functions().items()}
    return [
        Section("command", _named(read_by_command())),
        Section("key", keys),
        Section("server", _named(read_by_package())),
        Section("deploy", _named(read_by_deployment())),
        Section("function", given, complete=True),
        Section("make", _named(read_by_make())),
        Section("test", _named(read_by_tests())),
    ]


def read_by_command() -> list[str]:
    """The variables that stand for options of `opencrab`, hidden ones included."""
    root = typer.main.get_command(build_cli_app(command.run_local_server))
    found = (each.envvar for each in root.params if each.envvar)
    return [name for names in found for name in ([names] if isinstance(names, str) else names)]


def keys_in_settings() -> dict[str, list[str]]:
    """The variables whose values settings take, with these settings."""
    found = dict[str, list[str]]()
    for setting, default in configuration.settings().items():
        for name in _IN_SETTING.findall(str(default)):
            found.setdefault(name, []).append(setting)
    return dict(sorted(found.items()))


@cache
def read_by_package() -> list[str]:
    """What the package reads beside settings, libraries that it uses included."""
    own = {name for module in modules() for name in variables_in(module)}
    lent = {
        name
        for words, names in _BY_LIBRARIES.items()
        if any(words in module.text for module in modules())
        for name in names
    }
    return sorted((own | lent) - set(read_by_command()) - set(keys_in_settings()) | {_OWNER})


def read_by_deployment() -> list[str]:
    """What `make deploy` reads."""
    files = sorted((ROOT / "infra").glob("*.py"))
    found = {name for path in files for name in variables_in(Module(path.stem, path))}
    return sorted(found - _NO_VARIABLES)


def given_to_functions() -> dict[str, tuple[str, str]]:
    """What the templates set for functions: for which, and which setting it is."""
    users = dict[str, list[str]]()
    for stack in stacks().values():
        everywhere = stack.get("Globals", {}).get("Function", {})
        named = {"*": everywhere} | {
            name: each.get("Properties", {}) for name, each in stack["Resources"].items()
        }
        for name, properties in named.items():
            for variable in (properties.get("Environment") or {}).get("Variables", ()):
                users.setdefault(variable, []).append(name)
    settings = {
        f"OPENCRAB_{name.upper().replace('.', '__')}": name for name in configuration.settings()
    }
    return {
        variable: (_codes(names), _codes(filter(None, [settings.get(variable)])))
        for variable, names in sorted(users.items())
    }


def read_by_make() -> list[str]:
    """What the Makefile takes or hands on."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    told = {name for names in _OF_MAKE.findall(text) for name in names if name}
    asked = set(_USED_BY_MAKE.findall(text)) - set(_MADE.findall(text)) - _BY_MAKE_ITSELF
    return sorted(told | asked)


@cache
def read_by_tests() -> list[str]:
    """The variables of ours that only tests read."""
    texts = (path.read_text(encoding="utf-8") for path in _test_files())
    found = {name for text in texts if "environ" in text for name in _OF_TESTS.findall(text)}
    return sorted(found - set(read_by_command()) - set(read_by_package()))


def variables_in(module: Module) -> Iterator[str]:
    """Names of variables in a module that speaks of the environment."""
    if "environ" not in module.text and "getenv" not in module.text:
        return
    for node in module.nodes:
        if isinstance(node, ast.JoinedStr) and _is_beginning(node.values[0]):
            yield f"{ast.literal_eval(node.values[0])}*"
        if isinstance(node, ast.Constant) and _is_whole(str(node.value)):
            yield str(node.value)
        yield from _asked_for(node)


def _is_beginning(part: ast.AST) -> bool:
    """Whether the beginning of a text with gaps is that of a variable, but not of a setting's."""
    text = str(part.value) if isinstance(part, ast.Constant) else ""
    return text.endswith("_") and "__" not in text and _NAME.fullmatch(text) is not None


def _is_whole(text: str) -> bool:
    return not text.endswith("_") and "__" not in text and _NAME.fullmatch(text) is not None


def _asked_for(node: ast.AST) -> Iterator[str]:
    """The name in `….environ.get(NAME)` and `….environ[NAME]`, whatever it looks like."""
    place: ast.AST = ast.Pass()
    name: ast.AST = place
    if isinstance(node, ast.Subscript):
        place, name = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        place, name = node.func.value, node.args[0]
    found = str(name.value) if isinstance(name, ast.Constant) else ""
    is_own = ast.unparse(place).endswith(("environ", "environment"))
    if is_own and found.isupper() and "__" not in found:
        yield found


def _test_files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("*.py"))


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: (f"`{name}`",) for name in names}
