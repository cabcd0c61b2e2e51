"""The container: what its image is built from, as whom it runs, and that its commands exist."""

import fnmatch
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml  # type: ignore[import-untyped, unused-ignore]

from opencrab.gateways.cli.app import build_cli_app
from tests.built.wheel import build_distributions, names_in, package_files
from tests.conftest import ROOT
from tests.running import server

Instruction = tuple[str, str]


def instructions() -> list[Instruction]:
    """The Dockerfile's instructions with their text, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def last_stage() -> dict[str, str]:
    """The instructions of the image that runs; of several alike the last."""
    found = instructions()
    start = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    return dict(found[start:])


def copied_sources() -> list[str]:
    """What the build copies from the checkout."""
    words = (shlex.split(rest) for name, rest in instructions() if name == "COPY")
    return [source for each in words if not each[0].startswith("--") for source in each[:-1]]


def test_the_base_image_is_pinned_by_a_tag_and_the_same_in_both_stages() -> None:
    bases = {rest.split()[0] for name, rest in instructions() if name == "FROM"}
    (base,) = bases
    image, _, tag = base.partition(":")
    assert image == "python"
    assert fnmatch.fnmatch(tag, "3.[0-9]*-slim-*")


def test_what_the_image_copies_is_enough_to_build_the_package(tmp_path: Path) -> None:
    source = tmp_path / "src"
    for name in copied_sources():
        path, target = ROOT / name, source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, target)
    (wheel,) = build_distributions(tmp_path / "dist", "wheel", source=source)
    assert names_in(wheel) == package_files()


def test_the_context_has_what_the_image_copies_and_no_data() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [line.removeprefix("!") for line in lines if line.startswith("!")]
    assert lines[1] == "*"
    assert set(copied_sources()) == set(allowed)


def test_it_runs_as_nobody_with_rights_and_writes_to_its_volume_only() -> None:
    image, service = last_stage(), compose()["services"]["opencrab"]
    user, _, group = image["USER"].partition(":")
    assert int(user) > 0 < int(group)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert f"data:{image['VOLUME']}" in service["volumes"]
    assert image["WORKDIR"] == image["VOLUME"]


def test_its_port_is_for_this_computer_alone() -> None:
    (published,) = compose()["services"]["opencrab"]["ports"]
    assert published == f"127.0.0.1:{last_stage()['EXPOSE']}:{last_stage()['EXPOSE']}"


def test_its_command_names_options_that_exist_and_the_volume() -> None:
    image = last_stage()
    (program,) = json.loads(image["ENTRYPOINT"])
    command, *words = json.loads(image["CMD"])
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options["--data"] == image["VOLUME"]
    assert options["--port"] == image["EXPOSE"]
    root = typer.main.get_command(build_cli_app(lambda _: 0))
    up = root.get_command(root.make_context(program, ["up"]), command)  # type: ignore[attr-defined]
    assert set(options) <= {flag for each in up.params for flag in each.opts}


@pytest.mark.slow
def test_its_health_check_asks_a_route_that_answers(tmp_path: Path) -> None:
    check = last_stage()["HEALTHCHECK"]
    (address,) = (word for word in check.split("'") if word.startswith("http://"))
    path = address.partition(f":{last_stage()['EXPOSE']}")[2]
    with server(tmp_path / "data") as running:
        answer = running.call("GET", path.removeprefix("/api"))
    assert answer["status"] == "ok"


def compose() -> dict[str, Any]:
    """The compose file."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_a_file_of_keys_enters_neither_git_nor_the_image() -> None:
    (keys,) = compose()["services"]["opencrab"]["env_file"]
    assert keys == {"path": ".env", "required": False}
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/.env" in ignored
    assert ".env" not in copied_sources()
