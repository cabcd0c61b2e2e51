"""Pictures of the message that a turn answers: for models that see, from the workspace only."""

from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import ImagePart, TextPart
from opencrab.domain.models.routing import CallOptions
from opencrab.engine.turn.prompt.images import IMAGE_BYTES, IMAGES
from opencrab.engine.turn.prompt.request import build_model_request
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
    request = build_model_request(work, info, CallOptions(), work.look(QUIET))  # type: ignore[arg-type]
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
    shown = build_model_request(work, INFO, CallOptions(), work.look(QUIET)).turns
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
    _keep(world, huge=PNG + bytes(IMAGE_BYTES))
    assert _pictures(_begun(world, "workspace:写真/huge")) == []


def test_only_the_first_pictures_are_shown(world: World) -> None:
    _keep(world, crab=PNG)
    work = _begun(world, *["workspace:写真/crab"] * (IMAGES + 2))
    ((*images,),) = _pictures(work)
    assert len(images) == IMAGES


def test_links_take_no_pictures_place(world: World) -> None:
    _keep(world, crab=PNG)
    links = (f"https://example.com/{n}.png" for n in range(IMAGES))
    ((picture,),) = _pictures(_begun(world, *links, "workspace:写真/crab"))
    assert b64decode(picture.data) == PNG


def test_nobody_from_outside_has_an_agent_look_around(world: World) -> None:
    _keep(world, crab=PNG)
    work = _begun(world, "workspace:写真/crab", authority=Authority.PUBLIC)
    assert _pictures(work) == []


def test_a_text_that_looks_like_a_picture_is_none(world: World) -> None:
    _keep(world, crab=PNG)
    assert _pictures(world.begun("[image workspace:写真/crab]")) == []
