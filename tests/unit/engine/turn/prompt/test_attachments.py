"""Pictures and files of the message that a turn answers: from the workspace only, or a note."""

from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.attachment import PICTURE_BYTES, PICTURES
from opencrab.domain.conversation.message import FilePart, ImagePart, TextPart
from opencrab.domain.models.routing import CallOptions
from opencrab.engine.turn.prompt.attachments import TEXT_BYTES
from opencrab.engine.turn.prompt.request import build_turn_prompt_request
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatMessage, Image
from tests.unit.engine.known_world import INFO, QUIET, World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)
SEEING = replace(INFO, vision=True, image_tokens=700)


def _begun(world: World, *references: str, **changes: Any) -> TurnWork:
    parts = (TextPart(text="これは何?"), *(ImagePart(reference=r) for r in references))
    return world.begun(parts=parts, **changes)


def _pictures(work: TurnWork, info: object = SEEING) -> list[tuple[Image, ...]]:
    request = build_turn_prompt_request(work, info, CallOptions(), work.look(QUIET))  # type: ignore[arg-type]
    return [turn.images for turn in request.turns if isinstance(turn, ChatMessage) and turn.images]


def _keep(world: World, **files: bytes) -> None:
    for name, content in files.items():
        world.runtime.home.files.write("mika", f"写真/{name}", content)


def test_a_picture_in_the_workspace_is_shown_with_the_message(world: World) -> None:
    _keep(world, crab=PNG, ship=JPEG)
    work = _begun(world, "workspace:写真/crab", "workspace:写真/ship")
    ((png, jpeg),) = _pictures(work)
    assert (png.media_type, b64decode(png.data)) == ("image/png", PNG)
    assert (jpeg.media_type, b64decode(jpeg.data)) == ("image/jpeg", JPEG)


def test_a_model_that_sees_nothing_gets_the_reference_alone(world: World) -> None:
    _keep(world, crab=PNG)
    work = _begun(world, "workspace:写真/crab")
    assert _pictures(work, INFO) == []
    shown = build_turn_prompt_request(work, INFO, CallOptions(), work.look(QUIET)).turns
    assert any(
        "[image workspace:写真/crab]" in turn.text
        for turn in shown
        if isinstance(turn, ChatMessage)
    )


@pytest.mark.parametrize(
    "reference",
    ["https://example.com/crab.png", "workspace:gone.png", "workspace:写真/text", "workspace:../x"],
)
def test_what_is_no_picture_of_the_workspace_stays_text(world: World, reference: str) -> None:
    _keep(world, text="ただの文字".encode())
    assert _pictures(_begun(world, reference)) == []


def test_a_picture_that_is_too_large_is_not_shown(world: World) -> None:
    _keep(world, huge=PNG + bytes(PICTURE_BYTES))
    assert _pictures(_begun(world, "workspace:写真/huge")) == []


def test_only_the_first_pictures_are_shown(world: World) -> None:
    _keep(world, crab=PNG)
    work = _begun(world, *["workspace:写真/crab"] * (PICTURES + 2))
    ((*images,),) = _pictures(work)
    assert len(images) == PICTURES


def test_links_take_no_pictures_place(world: World) -> None:
    _keep(world, crab=PNG)
    links = (f"https://example.com/{n}.png" for n in range(PICTURES))
    ((picture,),) = _pictures(_begun(world, *links, "workspace:写真/crab"))
    assert b64decode(picture.data) == PNG


def test_nobody_from_outside_has_an_agent_look_around(world: World) -> None:
    _keep(world, crab=PNG)
    work = _begun(world, "workspace:写真/crab", authority=Authority.PUBLIC)
    assert _pictures(work) == []


def test_a_text_that_looks_like_a_picture_is_none(world: World) -> None:
    _keep(world, crab=PNG)
    assert _pictures(world.begun("[image workspace:写真/crab]")) == []


def _shown(work: TurnWork, info: object = SEEING) -> str:
    """All texts of the request; the turn's own message is the last but one."""
    request = build_turn_prompt_request(work, info, CallOptions(), work.look(QUIET))  # type: ignore[arg-type]
    return "\n".join(turn.text for turn in request.turns if isinstance(turn, ChatMessage))


def _with_files(world: World, *references: str, **changes: Any) -> TurnWork:
    parts = (TextPart(text="要約して"), *(FilePart(reference=each) for each in references))
    return world.begun(parts=parts, **changes)


@pytest.mark.parametrize("text", ["蟹は{横}に歩く\n", "crabs walk {sideways}\n"])
def test_the_content_of_a_text_file_is_shown_and_taints(world: World, text: str) -> None:
    _keep(world, crab=text.encode())
    work = _with_files(world, "workspace:写真/crab")
    assert not work.turn.taint
    shown = _shown(work)
    assert "workspace:写真/crab" in shown
    assert text in shown
    assert work.turn.taint


def test_of_long_files_the_beginning_is_shown_and_what_is_left_out(world: World) -> None:
    _keep(world, one=("蟹" * TEXT_BYTES).encode(), two=b"second file")
    shown = _shown(_with_files(world, "workspace:写真/one", "workspace:写真/two"))
    assert shown.count("蟹") == TEXT_BYTES // 3
    assert "ws_read" in shown
    assert "second file" not in shown


def test_a_model_with_a_small_window_is_shown_less(world: World) -> None:
    _keep(world, crab=b"c" * 20_000)
    small = replace(SEEING, max_input_tokens=9_000)
    assert _shown(_with_files(world, "workspace:写真/crab"), small).count("c") < 10_000


@pytest.mark.parametrize(
    ("reference", "note"),
    [
        ("workspace:gone.txt", "ファイルがないか"),
        ("workspace:写真/crab", "ファイルがないか"),
        ("workspace:../x", "ファイルがないか"),
    ],
)
def test_a_file_that_is_no_text_is_named_and_not_shown(
    world: World, reference: str, note: str
) -> None:
    _keep(world, crab=PNG)
    assert note in _shown(_with_files(world, reference))


def test_nobody_from_outside_has_an_agent_read_its_files(world: World) -> None:
    _keep(world, note="秘密".encode())
    work = _with_files(world, "workspace:写真/note", authority=Authority.PUBLIC)
    assert "秘密" not in _shown(work)


def test_what_is_not_shown_is_named_with_the_reason(world: World) -> None:
    _keep(world, crab=PNG)
    here, there = "workspace:写真/crab", "https://example.com/crab.png"
    shown = _shown(_begun(world, *[here] * (PICTURES + 1), there, "workspace:gone.png"))
    assert "4 枚まで" in shown
    assert f"{there}。アドレスにある画像は取得しません" in shown
    assert "workspace:gone.png。ファイルがないか" in shown
    assert "このモデルは画像を見られません" in _shown(_begun(world, here), INFO)


def test_the_detail_of_a_picture_reaches_the_request(world: World) -> None:
    _keep(world, crab=PNG, ship=JPEG)
    parts = (
        ImagePart(reference="workspace:写真/crab", detail="low"),
        ImagePart(reference="workspace:写真/ship"),
    )
    ((crab, ship),) = _pictures(world.begun(parts=parts))
    assert (crab.detail, ship.detail) == ("low", "")
