"""Who may enter: the interaction that Discord really signed, ours, and none that was touched."""

import json
from pathlib import Path
from typing import Any

import discord_interactions
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.door.discord import DiscordPublicKeys
from opencrab.gateways.discord.interactions.door import Door, DoorResponse
from tests.discord.signing import Signer
from tests.unit.gateways.discord.doorway import NOW, Doorway, interaction

BODY = json.dumps(interaction(), ensure_ascii=False).encode()
STAMP = str(int(NOW))


@pytest.fixture(scope="module")
def doorway() -> Doorway:
    return Doorway()


@pytest.fixture(scope="module")
def vectors(wire: Path) -> dict[str, Any]:
    """What there is of interactions signed by Discord, and what was made of it, by name."""
    path = wire / "specs" / "discord" / "ed25519-vectors.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    return {each["name"]: each for each in found if "body" in each}


def judged(vector: Any) -> DoorResponse:
    """What a door with the vector's key answers at the vector's time."""

    def kept(body: str, *, group: str, deduplication: str) -> None:
        pass

    door = Door(
        DiscordPublicKeys([vector["public_key"]]).verify, kept, lambda *_: None, dict[str, Any]
    )
    headers = {
        "x-signature-ed25519": vector["signature"],
        "x-signature-timestamp": vector["timestamp"],
    }
    return door.answer(headers, vector["body"].encode(), float(vector["timestamp"]))


def test_the_one_interaction_that_discord_really_signed_is_taken(vectors: dict[str, Any]) -> None:
    assert judged(vectors["hikari/valid_edd25519"]).status == 202


def test_every_hostile_vector_is_refused(vectors: dict[str, Any]) -> None:
    hostile = [each for name, each in vectors.items() if name != "hikari/valid_edd25519"]
    assert len(hostile) == 11
    assert {judged(each).status for each in hostile} == {401}


def test_discords_own_library_agrees_about_each_vector(vectors: dict[str, Any]) -> None:
    """All but one: it takes upper-case digits, which Discord never sends."""
    for name, each in vectors.items():
        agrees = _oracle(
            each["body"].encode(), each["signature"], each["timestamp"], each["public_key"]
        )
        assert agrees == each["valid"], name
        assert (judged(each).status != 401) == (agrees and "uppercase" not in name), name


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "0" * 128,
        "{right}0",
        "0{right}",
        " {right}",
        "{right}\n",
        "{right}{right}",
        "zz",
        "é" * 128,
        "\uff11" * 128,
    ],
)
def test_a_signature_of_another_form_is_refused(doorway: Doorway, signature: str) -> None:
    headers = doorway.signer.headers(STAMP, BODY)
    right = headers["x-signature-ed25519"]
    sent = {**headers, "x-signature-ed25519": signature.format(right=right)}
    assert doorway.answer(sent, BODY).status == 401


def test_short_shifted_and_upper_case_signatures_are_refused(doorway: Doorway) -> None:
    headers = doorway.signer.headers(STAMP, BODY)
    right = headers["x-signature-ed25519"]
    for wrong in (right[:-2], right[1:] + right[0], right[2:] + right[:2], right.upper()):
        answer = doorway.answer({**headers, "x-signature-ed25519": wrong}, BODY)
        assert answer.status == 401, wrong
    assert doorway.answer(headers, BODY).status in {202, 409}


@pytest.mark.parametrize("missing", ["x-signature-ed25519", "x-signature-timestamp"])
def test_a_request_without_one_of_the_headers_is_refused(doorway: Doorway, missing: str) -> None:
    headers = doorway.signer.headers(STAMP, BODY)
    del headers[missing]
    assert doorway.answer(headers, BODY).status == 401


@pytest.mark.parametrize(
    "stamp", ["", "-1", "+1795000000", "1_795_000_000", "1e9", "\uff19", "nan"]
)
def test_a_timestamp_of_another_form_is_refused(doorway: Doorway, stamp: str) -> None:
    assert doorway.answer(doorway.signer.headers(stamp, BODY), BODY).status == 401


def test_a_body_that_was_written_anew_is_refused(doorway: Doorway) -> None:
    again = json.dumps(json.loads(BODY)).encode()
    assert again != BODY
    assert doorway.answer(doorway.signer.headers(STAMP, BODY), again).status == 401


def test_nothing_is_read_before_it_is_verified(doorway: Doorway) -> None:
    assert doorway.answer({}, b"[" * 100_000).status == 401
    assert doorway.answer({}, b"\xff").body == {"error": "invalid request signature"}


def test_another_key_is_refused_and_an_older_one_still_taken() -> None:
    doorway = Doorway(signer=Signer(b"an older key of the application!"))
    assert doorway.ask(interaction()).status == 202
    stranger = Signer(b"0" * 32)
    assert doorway.answer(stranger.headers(STAMP, BODY), BODY).status == 401


@given(body=st.binary(max_size=400), stamp=st.integers(0, 10**11), data=st.data())
def test_it_verifies_whatever_discords_library_does(
    doorway: Doorway, body: bytes, stamp: int, data: st.DataObject
) -> None:
    headers = doorway.signer.headers(str(stamp), body)
    signature = headers["x-signature-ed25519"]
    if data.draw(st.booleans(), label="touched"):
        place = data.draw(st.integers(0, 127))
        digit = data.draw(st.sampled_from("0123456789abcdef"))
        signature = signature[:place] + digit + signature[place + 1 :]
    genuine = _oracle(body, signature, str(stamp), doorway.public_key)
    answer = doorway.answer({**headers, "x-signature-ed25519": signature}, body, float(stamp))
    assert (answer.status != 401) == genuine


def _oracle(body: bytes, signature: str, stamp: str, key: str) -> bool:
    return bool(discord_interactions.verify_key(body, signature, stamp, key))
