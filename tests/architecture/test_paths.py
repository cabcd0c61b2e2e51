"""Documents name paths of the code that exist, and so do its own docstrings and comments."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.source import PACKAGE
from tests.conftest import ROOT

LAYERS = "domain|ports|engine|actions|adapters|gateways|bootstrap"
BESIDE = "tests|config|infra|functions"
NAMED = re.compile(
    r"(?<![\w./-])(?:layers/opencrab/python/opencrab/)?"
    rf"((?:{LAYERS}|{BESIDE})/[\w/-]*\w(?:\.\w+)*)"
)

# In code a module is named as it is imported, from its layer on.
DOTTED = re.compile(rf"`((?:{LAYERS})(?:\.\w+)+)`")

# A class of ours as prose names it, such as `TurnConsequence`. A deployment's parameters, resources
# and metrics are written alike, and stand in the templates and in the figures' names.
CLASS = re.compile(r"`((?:[A-Z][a-z]+){2,})`")
EXPLAINING = ("docs/design/", "docs/explanation/")

# Decisions are frozen, and the changelog tells of what was.
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if path.parent.name != "adr"
)


def named_in(text: str) -> Iterator[str]:
    """Every path of a folder, a module or something in a module that a text names.

    What a version follows after `@` is an action of GitHub's.
    """
    return (found[1] for found in NAMED.finditer(text) if text[found.end(1)] != "@")


def is_there(named: str, folder: Path) -> bool:
    """Whether a path is a file or a folder, or names something that its module defines."""
    path = folder / named
    if path.exists() or path.with_name(f"{path.name}.py").is_file():
        return True
    module, _, symbol = named.partition(".")
    source = folder / f"{module}.py"
    return bool(symbol) and source.is_file() and _defines(source, symbol)


def is_module_or_in_one(named: str, folder: Path) -> bool:
    """Whether a dotted name is a package, a module, or begins with what a module defines."""
    parts = named.split(".")
    path = folder
    for place, part in enumerate(parts):
        path = path / part
        source = path.with_suffix(".py")
        if source.is_file():
            rest = parts[place + 1 :]
            return not rest or _defines(source, rest[0])
    return path.is_dir()


def _folder(named: str) -> Path:
    return ROOT if named.partition("/")[0] in BESIDE.split("|") else PACKAGE


def _defines(source: Path, symbol: str) -> bool:
    text = source.read_text(encoding="utf-8")
    return re.search(rf"^(?:(?:def|class) )?{re.escape(symbol)}\b", text, re.M) is not None


def _unknown_names(text: str) -> list[str]:
    """Names in code spans that look like ours: dotted from a layer on, or a class."""
    dotted = {each for each in DOTTED.findall(text) if not is_module_or_in_one(each, PACKAGE)}
    return sorted(dotted | set(CLASS.findall(text)) - _names_in_code())


@cache
def _names_in_code() -> frozenset[str]:
    """Classes of the package, and every word of two capitals in its metrics and templates."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    templates = [ROOT / "template.yaml", *(ROOT / "infra").rglob("*.yaml")]
    stated = "\n".join(path.read_text(encoding="utf-8") for path in templates)
    quoted = re.findall(r'"((?:[A-Z][a-z]+){2,})"', code)
    return frozenset(
        [*re.findall(r"^class (\w+)", code, re.M), *quoted, *re.findall(r"\b[A-Z]\w+\b", stated)]
    )


def test_every_module_and_class_that_a_document_names_exists() -> None:
    unknown = {
        each: _unknown_names((ROOT / each).read_text(encoding="utf-8"))
        for each in DOCUMENTS
        if each.startswith(EXPLAINING)
    }
    assert {each: names for each, names in unknown.items() if names} == {}


def test_names_in_documents_that_are_gone_are_noticed() -> None:
    text = (
        "`TurnConsequence` `engine.consequence.FollowUp` `AlarmMail` `PriceFailures` `Nightly` "
        "`engine.consequence.LiveFollower` `ports.facts` `FollowerOfNothing`"
    )
    assert _unknown_names(text) == [
        *("FollowerOfNothing", "engine.consequence.LiveFollower", "ports.facts")
    ]


def test_every_path_that_a_document_names_exists() -> None:
    gone = {
        (each, named)
        for each in DOCUMENTS
        for named in named_in((ROOT / each).read_text(encoding="utf-8"))
        if not is_there(named, _folder(named))
    }
    assert sorted(gone) == []


def test_every_module_that_the_code_speaks_of_exists() -> None:
    gone = {
        f"{path.relative_to(PACKAGE)}: {named}"
        for path in PACKAGE.rglob("*.py")
        for named in DOTTED.findall(path.read_text(encoding="utf-8"))
        if not is_module_or_in_one(named, PACKAGE)
    }
    assert not sorted(gone)


def test_a_module_and_what_it_defines_are_told_from_what_is_gone(tmp_path: Path) -> None:
    module = tmp_path / "ports" / "turn" / "queue.py"
    module.parent.mkdir(parents=True)
    module.write_text("class Queue: ...\n", encoding="utf-8")
    found = {
        named: is_module_or_in_one(named, tmp_path)
        for named in DOTTED.findall(
            "`ports.turn.queue.Queue.send` `ports.turn` `ports.queue.Queue` `http.client` "
            "`ports.turn.queue.send` ports.turn.bare"
        )
    }
    assert found == {
        "ports.turn.queue.Queue.send": True,
        "ports.turn": True,
        "ports.queue.Queue": False,
        "ports.turn.queue.send": False,
    }


def test_documents_do_name_paths() -> None:
    texts = ((ROOT / document).read_text(encoding="utf-8") for document in DOCUMENTS)
    assert sum(len(set(named_in(text))) for text in texts) > 80


def test_a_path_is_found_in_prose_and_code_and_told_from_others() -> None:
    text = "`engine/turn/run.run_turn`, domain/errors.py. (ports/) my/tests/x docs/engine/x"
    assert list(named_in(text)) == ["engine/turn/run.run_turn", "domain/errors.py"]


def test_what_is_gone_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "engine" / "turn" / "run.py"
    module.parent.mkdir(parents=True)
    module.write_text("LIMIT = 1\ndef run_turn(): ...\n", encoding="utf-8")
    for named in ("engine/turn", "engine/turn/", "engine/turn/run", "engine/turn/run.py"):
        assert is_there(named, tmp_path), named
    for named in ("engine/turn/run.run_turn", "engine/turn/run.LIMIT"):
        assert is_there(named, tmp_path), named
    for named in ("engine/close", "engine/run.py", "engine/turn/run.close", "engine/turn/close.py"):
        assert not is_there(named, tmp_path), named
