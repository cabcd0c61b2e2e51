"""The owner's files over the defaults: which one wins, and what is said of a wrong one."""

import logging
import shutil
from pathlib import Path

import pytest

from opencrab.bootstrap.configuration.local_settings import LocalSettings, naming_setting_sources
from opencrab.domain.errors import Invalid
from opencrab.ports.installation.configuration import SettingsPaths
from opencrab.settings import EffectiveSetting
from tests.conftest import ROOT

TURN = "budget.turn_usd"


@pytest.fixture
def places(tmp_path: Path) -> SettingsPaths:
    (tmp_path / "data").mkdir()
    return SettingsPaths(tmp_path / "config.toml", tmp_path / "data")


def write(path: Path | None, text: str) -> None:
    assert path is not None
    path.write_text(text, encoding="utf-8")


def loaded(places: SettingsPaths, **environment: str) -> EffectiveSetting:
    return LocalSettings(places).load({}, environment).effective(TURN)


def test_the_data_folders_file_wins_over_the_users_and_variables_over_both(
    places: SettingsPaths,
) -> None:
    user, own = places.files
    assert loaded(places) == EffectiveSetting(0.5, "default.toml")
    write(user, "# 予算\n[budget]\nturn_usd = 2\n")
    assert loaded(places) == EffectiveSetting(2.0, f"{user}:3")
    write(own, "[budget]\nturn_usd = 3.5\n")
    assert loaded(places) == EffectiveSetting(3.5, f"{own}:2")
    write(places.data / ".env", "OPENCRAB_BUDGET__TURN_USD=4\n")
    assert loaded(places).value == 4.0
    variable = "OPENCRAB_BUDGET__TURN_USD"
    assert loaded(places, **{variable: "5"}) == EffectiveSetting(5.0, variable)


def test_dotenv_gives_keys_which_no_one_sees(places: SettingsPaths) -> None:
    write(places.data / ".env", "OPENAI_API_KEY=sk-KANARI\nOPENCRAB_OWNER_KEY=oc_KANARI\n")
    local = LocalSettings(places)
    found = local.load({}, {})
    assert found.get("llm.providers.openai.api_key") == "sk-KANARI"
    assert local.load({}, {"OPENAI_API_KEY": "sk-2"}).get("llm.providers.openai.api_key") == "sk-2"
    assert local.variables["OPENCRAB_OWNER_KEY"] == "oc_KANARI"
    assert "KANARI" not in repr(found)


def test_a_wrong_line_of_dotenv_is_named_and_not_shown(places: SettingsPaths) -> None:
    write(places.data / ".env", "A=1\nsk-KANARI\n")
    with pytest.raises(Invalid, match=r"\.env:2: ") as caught:
        loaded(places)
    assert "KANARI" not in caught.value.message


def test_a_whole_model_replaces_a_table_and_the_other_way_round(places: SettingsPaths) -> None:
    write(
        places.user,
        '[llm.models]\nanalysis = "fast"\n[llm.aliases]\nlocal = "ollama:gemma"\n'
        'mine = { provider = "openai", model = "x" }\n',
    )
    table = LocalSettings(places).load({}, {}).table("llm")
    assert table["models"]["analysis"] == "fast"
    assert table["aliases"]["local"] == "ollama:gemma"
    assert table["aliases"]["mine"] == {"provider": "openai", "model": "x"}
    assert table["aliases"]["fast"]["provider"] == "openai"
    write(places.data / "config.toml", "[llm.models.analysis]\nprovider = 'a'\nmodel = 'b'\n")
    table = LocalSettings(places).load({}, {}).table("llm")
    assert table["models"]["analysis"] == {"provider": "a", "model": "b"}
    given = {"OPENCRAB_LLM__MODELS__ANALYSIS": "openai:y"}
    assert LocalSettings(places).load({}, given).table("llm.models")["analysis"] == "openai:y"


def test_an_empty_section_leaves_the_defaults(places: SettingsPaths) -> None:
    write(places.user, "[budget]\n[llm.models]\n[llm.providers.mine]\n")
    found = LocalSettings(places).load({}, {})
    assert found.get(TURN) == 0.5
    assert found.table("llm")["models"]["thinking"]["provider"] == "anthropic"
    assert found.table("llm")["providers"]["mine"] == {}


def test_a_provider_of_the_owners_lacks_its_variable_like_any_other(
    places: SettingsPaths,
) -> None:
    text = '[llm.providers.groq]\nkind = "openai"\nbase_url = "https://groq.test/v1"\n'
    write(places.user, text + 'api_key = "${GROQ_API_KEY}"\n')
    local = LocalSettings(places)
    assert local.load({}, {}).absent["llm.providers.groq"] == "GROQ_API_KEY"
    given = local.load({}, {"GROQ_API_KEY": "gsk"})
    assert given.get("llm.providers.groq.api_key") == "gsk"
    assert given.variables_of("api_key", "llm.providers")["groq"] == "GROQ_API_KEY"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[budget]\nturn_usd = 'high'\n", ":2: budget.turn_usd must be a number"),
        (b"[budget\n", ":1: this is not valid TOML"),
        ("[owner]\nname = '花".encode("cp932"), ":2: the file is not in UTF-8"),
        (b"\n\n[owner]\nname = 'a\n", ":4: this is not valid TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(places: SettingsPaths, text: bytes, said: str) -> None:
    assert places.user is not None
    places.user.write_bytes(text)
    with pytest.raises(Invalid) as caught:
        loaded(places)
    assert f"{places.user}{said}" in caught.value.message
    assert caught.value.cure


def test_a_mark_at_the_beginning_and_windows_lines_are_read(places: SettingsPaths) -> None:
    assert places.user is not None
    places.user.write_bytes(b"\xef\xbb\xbf[budget]\r\nturn_usd = 7\r\n")
    assert loaded(places).value == 7.0


def test_a_named_file_must_exist_and_another_need_not(tmp_path: Path) -> None:
    missing = SettingsPaths(tmp_path / "none.toml", tmp_path)
    assert loaded(missing).source == "default.toml"
    named = SettingsPaths(tmp_path / "none.toml", tmp_path, named=True)
    with pytest.raises(Invalid, match=r"no file .*none\.toml"):
        loaded(named)


def test_a_file_that_became_wrong_leaves_the_settings_as_they_were(
    places: SettingsPaths, caplog: pytest.LogCaptureFixture
) -> None:
    write(places.user, "[budget]\nturn_usd = 2\n")
    local = LocalSettings(places)
    assert local.load({}, {}).get(TURN) == 2.0
    write(places.user, "[budget]\nturn_usd = nonsense\n")
    with caplog.at_level(logging.WARNING):
        assert local.load({}, {}).get(TURN) == 2.0
    assert ":2: " in caplog.text
    write(places.user, "[budget]\nturn_usd = 3\n")
    assert local.load({}, {}).get(TURN) == 3.0


def test_a_fault_that_shows_only_later_names_the_line_as_well(places: SettingsPaths) -> None:
    write(places.user, "[llm.aliases]\nx = 'nobody:1'\n")
    configured = LocalSettings(places).load({}, {})
    told = Invalid("no such provider", field="llm.aliases.x", cure="c")
    with pytest.raises(Invalid) as caught, naming_setting_sources(configured):
        raise told
    assert caught.value.message == f"{places.user}:2: no such provider"
    with pytest.raises(Invalid, match=r"^other$"), naming_setting_sources(configured):
        raise Invalid("other", field=TURN)


def test_what_cannot_be_changed_is_refused_from_a_variable_too(places: SettingsPaths) -> None:
    variable = "OPENCRAB_GATEWAY__REST__ENABLED"
    with pytest.raises(Invalid, match=variable) as caught:
        loaded(places, **{variable: "false"})
    assert "--host" in (caught.value.cure or "")
    assert loaded(places, **{variable: "true"}).value == 0.5


def test_a_default_file_that_was_edited_in_place_still_counts(
    places: SettingsPaths, tmp_path: Path
) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(ROOT / "config", folder)
    file = folder / "default.toml"
    text = file.read_text(encoding="utf-8").replace("turn_usd = 0.50", "turn_usd = 9.5")
    own = '[llm.providers.mine]\nbase_url = "http://localhost:1/v1"\n'
    file.write_text(text.replace("[gateway.rest]", f"{own}[gateway.rest]"), encoding="utf-8")
    write(places.user, "[llm.providers.mine]\ndefault_model = '蟹'\n")
    found = LocalSettings(places, folder=folder).load({}, {})
    assert found.get(TURN) == 9.5
    mine = {"base_url": "http://localhost:1/v1", "default_model": "蟹"}
    assert found.table("llm.providers")["mine"] == mine
