"""`make deploy` with SAM itself: what SAM understands and saves; its talk with AWS is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.identifier import content_hash
from tests.conftest import ROOT
from tests.infra.desk import REAL, Desk, environ

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / ".venv-sam" / "bin" / "sam").is_file(),
        reason="there is no .venv-sam: `make build` makes it",
    ),
]


@pytest.fixture
def desk(tmp_path: Path, sts_url: str) -> Desk:
    """A desk with the real SAM."""
    desk = Desk(tmp_path, environ(tmp_path, sts_url))
    desk.arrange(REAL)
    return desk


def told(desk: Desk) -> dict[str, Any]:
    """What SAM understood the last time."""
    found = json.loads((desk.folder / "bin" / "told").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_sam_saved_when_it_guided_never_comes_back(desk: Desk) -> None:
    desk.types(AlarmMail="蟹 <me@example.com>")
    first = desk.sit_and_deploy()
    assert first.returncode == 0, first.stderr
    digest = content_hash(desk.key.read_bytes().strip())
    assert desk.saved["parameter_overrides"].split(" ", 2)[:2] == [
        'Stage="main"',
        f'OwnerKeyHash="{digest}"',
    ]
    assert 'Table=""' in desk.saved["parameter_overrides"]
    # As SAM leaves it where somebody calls it by hand.
    stale = '\n[main.deploy.parameters]\nparameter_overrides = "Table=stale"\n'
    with (desk.checkout / "samconfig.toml").open("a", encoding="utf-8") as config:
        config.write(stale)
    assert desk.deploy("--set", "Table=opencrab-restored").returncode == 0
    assert told(desk)["parameter_overrides"] == {"Table": "opencrab-restored"}
    for deploy in (desk.sit_and_deploy, desk.deploy):
        assert deploy().returncode == 0
        assert told(desk)["parameter_overrides"] == {}
    assert desk.stack == {
        "Stage": "main",
        "OwnerKeyHash": digest,
        "AlarmMail": "蟹 <me@example.com>",
        "Table": "opencrab-restored",
    }


def test_sam_is_told_the_same_place_every_time(desk: Desk) -> None:
    places = []
    for deploy in (desk.sit_and_deploy, desk.deploy):
        assert deploy("--stage", "prod", "--set", "AlarmMail=a b").returncode == 0
        found = told(desk)
        names = ("stack_name", "region", "resolve_s3", "s3_prefix", "capabilities", "profile")
        places.append({name: found[name] for name in names})
    assert places[0] == places[1]
    assert places[0] == {
        "stack_name": "opencrab-prod",
        "region": "eu-west-1",
        "resolve_s3": True,
        "s3_prefix": "opencrab-prod",
        "capabilities": ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        "profile": None,
    }
    assert told(desk)["parameter_overrides"] == {"AlarmMail": "a b"}


def test_answers_of_an_attempt_that_left_no_stack_are_offered_again(desk: Desk) -> None:
    desk.types(AlarmMail="me@example.com")
    assert desk.sit_and_deploy().returncode == 0
    (desk.folder / "bin" / "stack").unlink()
    (desk.folder / "bin" / "typed").unlink()
    assert desk.deploy().returncode == 0
    assert desk.stack["AlarmMail"] == "me@example.com"
    assert desk.stack["Stage"] == "main"
