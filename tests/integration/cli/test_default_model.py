"""The default model that a flag, a variable or the settings file names is the one that answers."""

from pathlib import Path

import pytest

from tests.integration.cli.house import running
from tests.integration.cli.test_setup_sessions import NOWHERE
from tests.integration.cli.vendors import ANSWER, KEY, vendor

_PROVIDER, _MODEL = "OPENCRAB_LLM__DEFAULT_PROVIDER", "OPENCRAB_LLM__DEFAULT_MODEL"


@pytest.mark.parametrize(
    ("flag", "variables", "file", "wanted"),
    [
        ("mine:crab-2", {}, "", "crab-2"),
        ("mine", {}, "", "crab-1"),
        (None, {_PROVIDER: "mine", _MODEL: "crab-3"}, "", "crab-3"),
        (None, {}, '[llm]\ndefault_provider = "mine"\ndefault_model = "crab-4"\n', "crab-4"),
    ],
    ids=["flag", "flag-provider", "variable", "file"],
)
def test_the_default_model_that_was_named_answers(
    tmp_path: Path, flag: str | None, variables: dict[str, str], file: str, wanted: str
) -> None:
    models = ("crab-1", "crab-2", "crab-3", "crab-4")
    with vendor("openai", *models) as stub:
        section = f'[llm.providers.mine]\nbase_url = "{stub.url}/v1"\ndefault_model = "crab-1"\n'
        section += 'api_key = "${MINE_API_KEY}"\n'
        settings = tmp_path / ".config" / "opencrab" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(file + section)
        more = {**NOWHERE, "MINE_API_KEY": KEY, **variables}
        with running(tmp_path, provider=flag, more=more) as house:
            made = house.run("agents", "create", "--name", "すみれ", "--purpose", "メモ", **more)
            assert made.code == 0, made.err
            assert ANSWER in house.run("chat", "すみれ", "--say", "こんにちは").out
        asked = [each.json["model"] for each in stub.received if each.method == "POST"]
        assert asked
        assert set(asked) == {wanted}
