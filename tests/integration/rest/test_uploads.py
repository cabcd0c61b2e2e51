"""Uploads: what somebody sends with a message reaches the model, and nobody else's turns."""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.access.authority import Scope
from opencrab.domain.conversation.attachment import PICTURE_BYTES
from opencrab.domain.workspace.path import FILE_READERS, FOREIGN_NAME
from opencrab.engine.access.api_keys import principal_of_api_key
from opencrab.engine.conversation.uploads import OTHERS_BYTES
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatRequest
from tests.integration.rest.house import House, problem

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
NOTE = "蟹は横に歩く\nCrabs walk sideways\n".encode()


class Seeing(Scripted):
    """A model that sees pictures, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self._info = replace(self._info, vision=True, image_tokens=700)
        self.sent: list[Any] = []

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        self.sent.append(json.loads(body))
        return super().chat(request, body, watch)


@pytest.fixture
def seeing(house: House) -> Seeing:
    house.thinking.model = Seeing()
    return house.thinking.model


def upload(house: House, session_id: str, name: str, content: bytes, **sent: Any) -> Any:
    place = f"/sessions/{session_id}/uploads?name={quote(name)}"
    return house.call("POST", place, content=content, **sent)


def send(house: House, session_id: str, *uploads: Any, **sent: Any) -> None:
    parts = [{"kind": each["kind"], "reference": each["reference"]} for each in uploads]
    house.made(f"/sessions/{session_id}/messages", {"text": "見て", "parts": parts}, **sent)
    house.work()


@pytest.mark.parametrize("name", ["蟹 1.png", "crab.png"])
def test_a_picture_and_a_text_reach_the_model(house: House, seeing: Seeing, name: str) -> None:
    session_id = house.session()
    picture = upload(house, session_id, name, PNG)
    note = upload(house, session_id, "メモ.md", NOTE)
    assert (picture.status_code, picture.json()["kind"], note.json()["kind"]) == (
        201,
        "image",
        "file",
    )
    assert picture.json()["reference"].startswith("workspace:uploads/")
    send(house, session_id, picture.json(), note.json())
    sent = json.dumps(seeing.sent[0], ensure_ascii=False)
    assert b64encode(PNG).decode() in sent
    assert "蟹は横に歩く" in sent


def test_a_user_uploads_for_everybody_in_the_session_and_nobody_else(
    house: House, seeing: Seeing
) -> None:
    agent = house.agent()
    session_id, other = house.session(agent), house.session(agent)
    note = upload(house, session_id, "note.md", NOTE, key=house.chat).json()
    send(house, session_id, note, key=house.chat)
    assert "蟹は横に歩く" in json.dumps(seeing.sent[-1], ensure_ascii=False)
    friend, _ = house.key(Scope.CHAT)
    house.invite(session_id, friend)
    send(house, session_id, note, key=friend)
    assert "蟹は横に歩く" in json.dumps(seeing.sent[-1], ensure_ascii=False)
    send(house, other, note, key=house.chat)
    assert "蟹は横に歩く" not in json.dumps(seeing.sent[-1], ensure_ascii=False)
    send(house, other, note)
    assert "蟹は横に歩く" not in json.dumps(seeing.sent[-1], ensure_ascii=False)


def test_only_who_takes_part_uploads(house: House) -> None:
    session_id = house.session()
    stranger, _ = house.key(Scope.CHAT)
    problem(upload(house, session_id, "a.md", NOTE, key=stranger), 404)
    problem(upload(house, session_id, "a.md", NOTE, key=house.read), 403)
    house.call("POST", f"/sessions/{session_id}/end")
    problem(upload(house, session_id, "a.md", NOTE), 409)


def test_a_large_picture_of_a_user_is_taken_and_a_larger_one_refused(house: House) -> None:
    session_id = house.session()
    large = PNG + bytes(PICTURE_BYTES - len(PNG))
    assert upload(house, session_id, "a.png", large, key=house.chat).status_code == 201
    problem(upload(house, session_id, "a.png", large + b"x", key=house.chat), 413)
    read_key = upload(house, session_id, "a.png", large, key=house.read)
    assert read_key.status_code in {403, 413}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pdf", b"%PDF\xff", "neither a picture nor text in UTF-8"),
        ("a.png", NOTE, "named like a picture"),
        ("a.txt", PNG, "its content is a picture"),
        ("a.txt", b"", "is empty"),
    ],
)
def test_another_kind_of_file_is_refused_and_what_is_allowed_is_named(
    house: House, name: str, content: bytes, words: str
) -> None:
    answer = upload(house, house.session(), name, content)
    problem(answer, 422, "body")
    assert words in answer.json()["detail"]
    assert "PNG, JPEG, GIF and WebP" in answer.json()["cure"]


@pytest.mark.parametrize("name", ["a\u202egpj.png", "x" * 201, "..", "con"])
def test_a_name_that_no_file_may_have_is_refused(house: House, name: str) -> None:
    problem(upload(house, house.session(), name, PNG), 422)


def test_a_repeated_upload_is_one_file(house: House) -> None:
    session_id = house.session()
    headers = {"Idempotency-Key": "once"}
    first = upload(house, session_id, "a.md", NOTE, headers=headers).json()
    assert upload(house, session_id, "a.md", NOTE, headers=headers).json() == first
    problem(upload(house, session_id, "a.md", PNG, headers=headers), 409)
    assert upload(house, session_id, "a.md", NOTE).json() != first


def test_pictures_at_addresses_and_five_pictures_are_refused(house: House) -> None:
    session_id = house.session()
    place = f"/sessions/{session_id}/messages"
    there = [{"kind": "image", "reference": "https://example.com/a.png"}]
    answer = house.call("POST", place, {"text": "x", "parts": there})
    problem(answer, 422, "parts")
    assert "/uploads" in answer.json()["cure"]
    five = [{"kind": "image", "reference": f"workspace:{n}.png"} for n in range(5)]
    problem(house.call("POST", place, {"text": "x", "parts": five}), 422, "parts")
    assert house.lines(session_id) == []


@pytest.mark.parametrize("name", ["秘密の日記.md", "diary.md"])
@pytest.mark.parametrize("scope", ["person", "session", "period", "everything"])
def test_who_is_forgotten_leaves_no_uploads_sent_or_not(
    house: House, scope: str, name: str
) -> None:
    agent, home = house.agent(), house.runtime.home
    session_id, friend = house.session(agent), principal_of_api_key(home.keys, house.chat).id
    sent = upload(house, session_id, name, NOTE, key=house.chat).json()
    upload(house, session_id, "unsent.md", NOTE, key=house.chat)
    send(house, session_id, sent, key=house.chat)
    named = {
        "person": {"id": friend},
        "session": {"id": session_id},
        "period": {"since": "2020-01-01T00:00:00Z"},
        "everything": {"confirm": agent},
    }
    wish = {"scope": scope, **named[scope]}
    place = f"/agents/{agent}/memory/forget"
    seen = house.made(f"{place}/preview", wish)
    assert any(name in each for each in seen["kept"])
    assert len(home.files.list(agent, "uploads")) == 2
    report = house.made(place, wish)
    assert report["done"]
    assert any(name in each for each in report["removed"])
    assert home.files.list(agent, "uploads") == ()
    assert home.files.versions(agent, sent["reference"].removeprefix("workspace:")) == ()
    marks = (home.facts.page(agent, kind, limit=9) for kind in (FOREIGN_NAME, FILE_READERS))
    assert not any(marks)


def test_a_forgotten_person_takes_nobody_elses_uploads_along(house: House) -> None:
    agent, home = house.agent(), house.runtime.home
    session_id = house.session(agent)
    kept = upload(house, session_id, "kept.md", NOTE).json()
    # A friend refers to it, too.
    send(house, session_id, kept, key=house.chat)
    friend = principal_of_api_key(home.keys, house.chat).id
    house.made(f"/agents/{agent}/memory/forget", {"scope": "person", "id": friend})
    (left,) = home.files.list(agent, "uploads")
    assert left.path.endswith("kept.md")


@pytest.mark.parametrize("name", ["写真.png", "photo.png"])
def test_friends_cannot_fill_an_agents_workspace(house: House, name: str) -> None:
    agent, files = house.agent(), house.runtime.home.files
    body = {"participants": [agent]}
    session_id = house.made("/sessions", body, key=house.chat)["id"]
    part = OTHERS_BYTES // 10
    for n in range(10):
        files.write(agent, f"uploads/before/{n}.txt", bytes(part - (len(PNG) if n == 0 else 0)))
    files.write(agent, "notes/own.md", NOTE)
    assert upload(house, session_id, name, PNG, key=house.chat).status_code == 201
    # Nor in another session, which everybody may open.
    other = house.made("/sessions", body, key=house.chat)["id"]
    refused = upload(house, other, name, PNG, key=house.chat)
    problem(refused, 413, "body")
    assert "uploads/" in refused.json()["cure"]
    assert upload(house, session_id, name, PNG).status_code == 201
