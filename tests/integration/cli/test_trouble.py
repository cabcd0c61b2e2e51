"""What a user reads when something is wrong: never a traceback, always what to do."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.house import House, free_port

LANGUAGES = pytest.mark.parametrize("language", ["en", "ja"])


@LANGUAGES
@pytest.mark.parametrize("args", [("agents", "list"), ("doctor",)], ids=" ".join)
def test_without_a_server_the_user_is_sent_to_make_up(
    tmp_path: Path, args: tuple[str, ...], language: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = House(tmp_path).run("--url", url, "--language", language, *args)
    assert said.code == (1 if args == ("doctor",) else 3)
    assert "`make up`" in said.out + said.err
    assert url in said.out + said.err


@pytest.mark.parametrize(
    ("language", "message"),
    [("en", "the server rejected this API key"), ("ja", "受け付けられませんでした")],
)
def test_a_wrong_key_is_told_with_where_to_find_the_right_one(
    house: House, language: str, message: str
) -> None:
    said = house.run("--key", "oc_wrong", "--language", language, "agents", "list")
    assert said.code == 4
    assert message in said.err
    assert "owner.key" in said.err
    assert house.run("--key", "oc_wrong", "doctor").code == 1


@pytest.mark.parametrize(
    ("language", "wanted", "cure"),
    [("en", "Adda", "did you mean Ada?"), ("ja", "さくろ", "「さくら」ではありませんか?")],
)
def test_an_unknown_agent_brings_the_nearest_name(
    house: House, language: str, wanted: str, cure: str
) -> None:
    said = house.run("--language", language, "chat", wanted, "--say", "hi")
    assert (said.code, said.out) == (5, "")
    assert wanted in said.err
    assert cure in said.err


@LANGUAGES
def test_what_is_longer_than_a_message_may_be_is_refused(house: House, language: str) -> None:
    long = ("蟹" if language == "ja" else "crab ") * 34_000
    said = house.run("--language", language, "chat", "Ada", typed=long)
    assert (said.code, said.out) == (2, "")
    assert "65536" in said.err
    assert len(said.err) < 1_000


def test_100_kb_in_lines_are_answered_one_by_one(house: House) -> None:
    lines = ["crab " * 6_500, "蟹" * 11_000, "crab " * 6_500]
    said = house.run("chat", "Ada", "--json", typed="\n".join(lines))
    assert said.code == 0
    assert len([json.loads(line) for line in said.out.splitlines()]) == 3


def test_bytes_that_are_no_text_harm_nobody(house: House) -> None:
    said = house.run_anew("chat", "Ada", "--say", "caf\udce9 \x1b[2J\u202e!")
    assert said.code == 0
    assert "caf" in said.out
    assert not set(said.out) & set("\x1b\u202e")


@pytest.mark.parametrize("args", [("turns", "show", "nobody"), ("sessions", "show", "s/../x")])
def test_an_id_that_does_not_exist_is_a_sentence(house: House, args: tuple[str, ...]) -> None:
    said = house.run(*args)
    assert (said.code, said.out) == (5, "")
    assert said.err.startswith("opencrab: ")
