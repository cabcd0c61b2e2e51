"""The setup as a person has it: a new home, a terminal, no network, and an answer at the end.

Each session ends in `opencrab chat` with what a server on this machine says in its vendor's format.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.integration.cli.forked_seat import forked_seat
from tests.integration.cli.house import CTRL_C, CTRL_D, House, Seat, running, seat
from tests.integration.cli.vendors import ANSWER, KEY, vendor

NOBODY = "http://127.0.0.1:9"
SERVERS = ("OLLAMA", "LLAMACPP", "VLLM", "LMSTUDIO")
NOWHERE = {f"OPENCRAB_LLM__PROVIDERS__{each}__BASE_URL": NOBODY for each in SERVERS}
QUESTIONS = (
    "Language / 言語",
    "Number or name",
    "Model [",
    "Model for difficult tasks",
    "spend in a day",
    "Name of your first agent",
    "Purpose",
)
PRICE = "Price in US dollars per million tokens"


@dataclass(frozen=True)
class Case:
    """What a person has: a vendor's wire and models, the variable of its address, and a choice.

    One that `bills` passes requests on, so that its models are not free although it is here.
    """

    name: str
    wire: str = "openai"
    address: str = ""
    path: str = ""
    models: tuple[str, ...] = ("crab-1",)
    key: str = KEY
    other: bool = False
    bills: bool = False
    typed_address: bool = False
    more: dict[str, str] = field(default_factory=dict)


def _address(name: str) -> str:
    return f"OPENCRAB_LLM__PROVIDERS__{name.upper()}__BASE_URL"


CASES = (
    Case("openai", address="OPENAI_BASE_URL", path="/v1", models=("gpt-5-mini", "gpt-5.2")),
    Case("anthropic", "anthropic", "ANTHROPIC_BASE_URL", models=("claude-sonnet-4.5",)),
    Case("google", "google", _address("google"), "/v1beta", ("gemini-3-flash-preview",)),
    Case("xai", address=_address("xai"), path="/v1", models=("grok-4.5",)),
    Case("deepseek", address=_address("deepseek"), models=("deepseek-v4-flash",)),
    Case("openrouter", "openrouter", _address("openrouter"), "/api/v1"),
    Case("azure", models=("gpt-5.2",), typed_address=True),
    Case("mistral", address=_address("mistral"), path="/v1", models=("mistral-large-latest",)),
    Case("groq", address=_address("groq"), path="/openai/v1", models=("openai/gpt-oss-120b",)),
    Case("gateway", path="/v1", key="", other=True, bills=True),
    Case("ollama", "ollama", "OLLAMA_HOST", models=("nomic-embed-text", "qwen3:8b"), key=""),
    Case("bedrock", "bedrock", _address("bedrock"), models=("amazon.nova-2-lite-v1:0",), key=""),
)


LATER = ("openai", "bedrock")
"""Cases in which somebody talks again later, when no server runs any more."""


ANEW = "openai"
"""The case whose setup and server start from nothing, as from a shell; all others are forked."""


@contextmanager
def sitting(
    folder: Path,
    more: Mapping[str, str] = MappingProxyType({}),
    *,
    anew: bool = False,
    command: str = "setup",
) -> Iterator[tuple[Seat, House]]:
    """A person who typed `opencrab setup`, or another command, at home."""
    house, sit_down = House(folder), seat if anew else forked_seat
    with sit_down(house, command, more={**NOWHERE, **more}) as person:
        yield person, house


def answer(person: Seat, *pairs: tuple[str, str]) -> str:
    """Wait for each question and type what follows it; returns all that was shown."""
    shown = []
    for question, typed in pairs:
        shown.append(person.see(question))
        person.type(f"{typed}\n")
    return "".join(shown)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_one_key_or_server_an_agent_answers(tmp_path: Path, case: Case) -> None:
    with vendor(case.wire, *case.models, key=case.key) as stub:
        url = f"{stub.url}{case.path}"
        more = _variables(case, url)
        if case.name == "bedrock":
            _write_aws_profile(tmp_path)
        with sitting(tmp_path, more, anew=case.name == ANEW) as (person, house):
            shown = answer(person, (QUESTIONS[0], "1"), *_choosing(case, url))
            shown += answer(person, *((each, "") for each in QUESTIONS[2:4]))
            if case.bills:
                answer(person, (PRICE, "0/0"), ("is 0", ""), (PRICE, "0.15/0.60"))
            shown += answer(person, *((each, "") for each in QUESTIONS[4:6]))
            shown += answer(person, (QUESTIONS[6], "Help."), ("Talk to Rowan now?", ""))
            shown += answer(person, ("you> ", "Hello")) + person.see(ANSWER)
            answer(person, ("you> ", "/quit"))
            assert person.leave() == 0
        assert f"{case.name}:{case.models[-1]} answers by default" in shown
        assert "answered a question of a few tokens" in shown
        settings = (tmp_path / ".config" / "opencrab" / "config.toml").read_text()
        assert f'default_provider = "{case.name}"' in settings
        assert KEY not in settings + shown
        assert case.bills == ('usd_per_million = "0.15/0.60"' in settings)
        assert not (house.data / "endpoint").exists()
        if case.name not in LATER:
            return
        with sitting(tmp_path, more, command="chat") as (person, house):
            person.see("while you talk")
            answer(person, ("you> ", "Again"))
            person.see(ANSWER)
            answer(person, ("you> ", "/quit"))
            assert person.leave() == 0


def _variables(case: Case, url: str) -> dict[str, str]:
    """The environment of this person."""
    more = {case.address: url} if case.address else {}
    if case.address == "OLLAMA_HOST":
        more[_address("ollama")] = url
    if case.bills:
        more[f"OPENCRAB_LLM__PROVIDERS__{case.name.upper()}__PRIVATE"] = "false"
    return more


def _choosing(case: Case, url: str) -> Iterator[tuple[str, str]]:
    """The questions about a provider, each with what this person types."""
    if case.other:
        yield from ((QUESTIONS[1], "other"), ("Address of its API", url))
        yield from (("A name for it", case.name), ("if it needs one (not shown)", case.key))
        return
    yield QUESTIONS[1], case.name if case.key else ""
    if case.typed_address:
        yield "Address of your Azure resource", url
    if case.key:
        yield f"API key of {case.name} (not shown)", KEY


def _write_aws_profile(home: Path) -> None:
    folder = home / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[default]\nregion = eu-west-1\n")
    keys = "[default]\naws_access_key_id = AKIA0\naws_secret_access_key = s3cret\n"
    (folder / "credentials").write_text(keys)


@pytest.mark.parametrize(
    ("language", "says", "name", "talk"),
    [
        ("1", "which is not a language model", "Rowan", "Talk to Rowan now?"),
        ("2", "言語モデルではありません", "すみれ", "いま すみれ と話しますか"),
    ],
)
def test_with_nothing_a_stand_in_answers_and_says_what_it_is(
    tmp_path: Path, language: str, says: str, name: str, talk: str
) -> None:
    with sitting(tmp_path) as (person, _):
        person.see("2  日本語")
        person.type(f"{language}\n")
        person.see("[none]:")
        person.type("\n\n\n\n")
        person.see(says)
        person.see(talk)
        person.type("\n")
        person.see(name)
        person.see("> ")
        person.type("write a.md: tea\n" if language == "1" else "a.md に「お茶」と書いて\n")
        person.see("a.md")
        person.see("> ")
        person.type("/quit\n")
        assert person.leave() == 0
    assert not (tmp_path / ".config").exists()


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_ctrl_c_at_any_question_leaves_everything_as_it_was(tmp_path: Path, number: int) -> None:
    with (
        vendor("ollama", "qwen3:8b", key="") as stub,
        sitting(tmp_path, {_address("ollama"): stub.url}) as (person, _),
    ):
        answer(person, *((each, "") for each in QUESTIONS[:number]))
        person.see(QUESTIONS[number])
        person.settle()
        person.type(CTRL_C if number % 2 else CTRL_D)
        person.see("nothing was changed")
        assert person.leave() == 130
    assert not list(tmp_path.rglob("*.toml"))
    assert not (tmp_path / "data").exists()


def test_a_wrong_key_is_asked_for_again_and_a_second_setup_keeps_what_is_set(
    tmp_path: Path,
) -> None:
    with vendor("openai", "gpt-5.2") as stub:
        more = {"OPENAI_BASE_URL": f"{stub.url}/v1", "OPENAI_API_KEY": "sk-wrong"}
        with sitting(tmp_path, more) as (person, house):
            answer(person, (QUESTIONS[0], "1"), ("[openai]:", ""))
            person.see("cannot be used: it refused the key: (401) wrong key")
            answer(person, ("enter another key", ""))
            answer(person, (QUESTIONS[1], "nobody"), ("please enter one of", ""))
            answer(person, ("Enter keeps the one that is there", KEY), ("openai answers", ""))
            answer(person, (QUESTIONS[3], ""), (QUESTIONS[4], "much"), ("a number", "2.5"))
            answer(person, (QUESTIONS[5], ""), (QUESTIONS[6], ""), ("Talk to", "n"))
            assert person.leave() == 0
        settings = tmp_path / ".config" / "opencrab" / "config.toml"
        before = settings.read_text()
        assert "agent_day_usd = 2.5" in before
        with sitting(tmp_path, more) as (person, house):
            answer(person, (QUESTIONS[0], ""), ("(in use)", ""))
            answer(person, (QUESTIONS[2], ""), (QUESTIONS[3], ""), ("[2.5]", ""))
            answer(person, ("Name of a new agent (Enter for none)", ""))
            assert "answers by default" in person.rest()
            assert person.leave() == 0
        assert settings.read_text() == before
        del house


def test_a_wrong_key_of_another_server_is_all_that_is_typed_again(tmp_path: Path) -> None:
    with vendor("openai", "crab-1") as stub, sitting(tmp_path) as (person, _):
        answer(
            person,
            (QUESTIONS[0], "2"),
            ("番号か名前", "other"),
            ("API のアドレス", f"{stub.url}/v1"),
        )
        answer(person, ("呼び名", "会社"), ("呼び名", "kaisha"), ("API キー", "sk-wrong"))
        person.see("kaisha は使えません: キーが拒否されました: (401) wrong key")
        answer(person, ("別のキーを入力できます", ""), ("[other]:", ""))
        answer(person, (f"[{stub.url}/v1]:", ""), ("[kaisha]:", ""), ("API キー", KEY))
        person.see("kaisha は応答しています")
        person.settle()
        person.type(CTRL_C)
        assert person.leave() == 130


def test_a_server_on_the_private_network_is_free_if_it_is_ones_own(tmp_path: Path) -> None:
    with sitting(tmp_path) as (person, _):
        answer(person, (QUESTIONS[0], "1"), (QUESTIONS[1], "other"))
        answer(person, ("Address of its API", "http://gpu:9/v1"), ("A name for it", ""))
        answer(person, ("if it needs one (not shown)", ""), ("Use it all the same?", "y"))
        answer(person, ("Model", "qwen3"), (QUESTIONS[3], ""), ("gpu a server of your own", ""))
        answer(person, (QUESTIONS[4], ""), (QUESTIONS[5], ""), (QUESTIONS[6], ""))
        person.see("gpu:qwen3 answers by default")
        answer(person, ("Talk to Rowan now?", "n"))
        assert person.leave() == 0
    assert "private = true" in (tmp_path / ".config" / "opencrab" / "config.toml").read_text()


def test_a_running_server_uses_the_new_model_at_once(tmp_path: Path) -> None:
    with (
        vendor("openai", "crab-1") as stub,
        running(tmp_path, provider=None, more=NOWHERE) as house,
    ):
        assert "scripted" in "\n".join(house.printed)
        args = ("--provider", "mine", "--base-url", f"{stub.url}/v1", "--key", "--yes")
        done = house.run("setup", *args, "--agent", "すみれ", typed=f"{KEY}\n", **NOWHERE)
        assert done.code == 0, done.err
        assert ANSWER in house.run("chat", "すみれ", "--say", "hello").out
