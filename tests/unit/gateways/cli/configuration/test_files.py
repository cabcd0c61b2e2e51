"""The commands about settings files, on real files of a temporary home, in both languages."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.unit.gateways.cli.configuration.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "budget.turn_usd = 2 in"), ("ja", "budget.turn_usd = 2 と書き")]
)
def test_a_setting_is_set_read_and_removed(home: Home, language: str, said: str) -> None:
    assert said in home.run("set", "budget.turn_usd", "2", language=language).out
    assert home.code == 0
    assert home.run("get", "budget.turn_usd").out == "2.0\n"
    assert f"{home.file}:4" in home.err
    assert home.run("get", "budget.turn_usd", "--json").json == {
        "name": "budget.turn_usd",
        "value": 2.0,
        "from": f"{home.file}:4",
    }
    (row,) = home.run("diff", "--json").json
    assert (row["name"], row["value"], row["default"]) == ("budget.turn_usd", 2.0, 0.5)
    assert "budget.turn_usd" in home.run("diff", language=language).out
    assert home.run("unset", "budget.turn_usd", language=language).code == 0
    assert home.run("get", "budget.turn_usd").out == "0.5\n"
    assert home.run("diff", "--json").json == []
    assert home.run("unset", "budget.turn_usd").code == 5


@pytest.mark.parametrize(
    ("name", "value", "is_followed"),
    [
        ("llm.models.analysis", "fast", True),
        ("mcp.servers.web.enabled", "false", True),
        ("llm.prices_url", "https://example.org/p.json", False),
        ("mcp.prompt_bytes", "4096", False),
    ],
)
def test_it_is_said_whether_a_running_server_takes_a_change(
    home: Home, name: str, value: str, *, is_followed: bool
) -> None:
    home.write('[mcp.servers.web]\nurl = "https://example.org/mcp"\n')
    told = home.run("set", name, value).err
    assert ("from now on" in told) == is_followed, told
    assert ("started again" in told) != is_followed


def test_comments_and_order_are_kept(home: Home) -> None:
    text = "# 私の設定\n[owner] # me\nname = '花子'  # 花\n\n[budget]\n# little\nturn_usd = 1\n"
    home.write(text)
    home.run("set", "budget.turn_usd", "0.75")
    home.run("set", "owner.name", '太郎 "T"')
    expected = text.replace("= 1", "= 0.75").replace("'花子'", '"太郎 \\"T\\""')
    assert home.file.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("agent.max_steps", "12", 12),
        ("dashboard.enabled", "False", False),
        ("web.allow", "https://a.test/, https://b.test/", ["https://a.test/", "https://b.test/"]),
        ("web.allow", '["https://a.test/"]', ["https://a.test/"]),
        ("web.allow", "", []),
        ("llm.models.analysis", "fast", "fast"),
        ("llm.aliases.mine", "{provider='openai', model='x'}", None),
        ("owner.name", "12", "12"),
        ("agent.time_zone", "Asia/Tokyo", "Asia/Tokyo"),
        ("llm.providers.groq.api_key", "${GROQ_API_KEY}", None),
    ],
)
def test_what_is_typed_has_the_type_of_its_setting(
    home: Home, name: str, text: str, value: object
) -> None:
    assert home.run("set", name, text).code == 0, home.err
    if value is not None:
        assert home.run("get", name, "--json").json["value"] == value
    assert home.run("check").code == 0, home.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("budget.turn_uds", "2", "did you mean budget.turn_usd?"),
        ("budget.turn_usd", "high", "must be a number"),
        ("budget.turn_usd", "2000000", "from 0 to 1,000,000"),
        ("agent.max_steps", "1.5", "must be a whole number"),
        ("agent.heartbeat_interval_secs", "60", "write 61"),
        ("gateway.rest.enabled", "false", "cannot be false"),
        ("gateway.discord.agent_ids", "a", "each agent has its own channels"),
        ("database.path", "x.db", "--data"),
        ("aws.table", "t", "the template sets it"),
        ("llm.aliases.*", "openai:x", "there is no setting"),
    ],
)
def test_what_a_setting_must_not_be_is_refused_and_nothing_is_written(
    home: Home, name: str, text: str, said: str
) -> None:
    assert home.run("set", name, text).code == 2
    assert said in home.err
    assert not home.file.exists()


def test_a_secret_is_refused_unseen_with_the_place_where_it_belongs(home: Home) -> None:
    for name in ("llm.providers.openai.api_key", "gateway.discord.token", "llm.providers.x.secret"):
        assert home.run("set", name, "sk-KANARI").code == 2
        assert "KANARI" not in home.err + home.out
    assert home.run("set", "llm.providers.openai.api_key", "sk-1").err.count(".env") == 1
    home.write("OPENAI_API_KEY=sk-KANARI\n", to=home.folder / "data" / ".env")
    for args in (("get", "llm.providers.openai"), ("show", "--json"), ("diff",), ("check",)):
        assert home.run(*args).code == 0
        assert "KANARI" not in home.err + home.out


def test_the_file_of_the_data_folder_is_changed_if_there_is_one(home: Home) -> None:
    home.write("[budget]\nturn_usd = 1\n")
    home.write("[budget]\nturn_usd = 2\n", to=home.own)
    assert home.run("get", "budget.turn_usd").out == "2.0\n"
    home.run("set", "budget.turn_usd", "3")
    assert home.own.read_text() == "[budget]\nturn_usd = 3\n"
    paths = home.run("path", "--json").json
    assert [(each["path"], each["changed"]) for each in paths["files"]] == [
        (str(home.file), False),
        (str(home.own), True),
    ]
    assert str(home.own) in home.run("path").out


@pytest.mark.parametrize(("language", "said"), [("en", "no effect yet"), ("ja", "まだ有効")])
def test_what_overrides_a_change_is_said(home: Home, language: str, said: str) -> None:
    variable = "OPENCRAB_BUDGET__TURN_USD"
    home.run("set", "budget.turn_usd", "3", language=language, **{variable: "9"})
    assert said in home.err
    assert variable in home.err


def test_a_broken_file_is_not_changed(home: Home) -> None:
    home.write("[budget]\nturn_usd = \n")
    assert home.run("set", "agent.max_steps", "3").code == 2
    assert f"{home.file}:2" in home.err
    assert home.file.read_text() == "[budget]\nturn_usd = \n"


def test_the_schema_is_printed_and_lies_beside_a_new_file(home: Home) -> None:
    schema = json.loads(home.run("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    home.run("set", "budget.turn_usd", "1")
    first = home.file.read_text().splitlines()[0]
    assert first == "#:schema ./config.schema.json"
    assert json.loads(home.file.with_name("config.schema.json").read_text()) == schema


WRONG = {
    "wrong TOML": ("[budget]\nturn_usd = 1\n[agent\n", 3, "valid TOML"),
    "a text in place of a number": ('[budget]\nturn_usd = "high"\n', 2, "write it without quotes"),
    "a misspelt setting": ("[budget]\nsesion_usd = 0.1\n", 2, "budget.session_usd?"),
    "a misspelt section": ("\n[bugdet]\nturn_usd = 1\n", 2, "[budget]?"),
    "a setting in no section": ("max_steps = 3\n", 1, "agent.max_steps?"),
    "a number out of range": ("[budget]\nheartbeat_percent = 101\n", 2, "from 0 to 100"),
    "a negative limit": ("[budget]\nturn_usd = -1\n", 2, "from 0 to 1,000,000"),
    "not a finite number": ("[budget]\nturn_usd = nan\n", 2, "must be a number"),
    "half a step": ("[agent]\nmax_steps = 2.5\n", 2, "whole number"),
    "yes in place of true": ('[dashboard]\nenabled = "yes"\n', 2, "true or false"),
    "no prime number": ("[agent]\nheartbeat_interval_secs = 60\n", 2, "write 61"),
    "no time zone": ('[agent]\ntime_zone = "日本"\n', 2, "Asia/Tokyo"),
    "a text in place of a list": ('[web]\nallow = "https://a.test/"\n', 2, '["one", "another"]'),
    "no address": ('[web]\nallow = ["docs.python.org"]\n', 2, "https://docs.python.org/3/"),
    "an unknown kind": ('[llm.providers.x]\nkind = "openia"\n', 2, "openai, azure"),
    "half a model": ('[llm.aliases]\nx = { provider = "openai" }\n', 2, "openai:gpt-5.2"),
    "a provider that is none": ('[llm.aliases]\nx = "nobody:1"\n', 2, "nobody:1"),
    "a circular alias": ('[llm.aliases]\na = "b"\nb = "a"\n', 2, "circular"),
    "a secret": ('[gateway.discord]\ntoken = "KANARI"\n', 2, "${NAME}"),
    "a setting that is fixed": ("[gateway.rest]\nport = 1\nenabled = false\n", 3, "--host"),
    "a short interval": ('[backup]\nevery = "5m"\n', 2, "10m"),
    "an id of other letters": ('[gateway.discord]\nowner_ids = ["aoi"]\n', 2, "175928847299117063"),
    "a value in place of a section": ("budget = 3\n", 1, "[budget]"),
    "days that are too few": ("[retention]\ncalls_days = 7\n", 2, "40 or more"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_told_with_line_and_cure(home: Home, case: str) -> None:
    text, line, said = WRONG[case]
    home.write(text)
    assert home.run("check").code == 1
    assert f"{home.file}:{line}: " in home.err
    assert said in home.err
    assert "\n  → " in home.err
    assert "KANARI" not in home.err
    english = home.err
    assert home.run("check", "--json").code == 1
    assert [each["line"] for each in home.json if each["cure"]] == [line]
    assert home.run("check", language="ja").code == 1
    assert home.err != english
    other = home.folder / "to-deploy.toml"
    other.write_text(text, encoding="utf-8")
    home.file.unlink()
    assert home.run("check", str(other)).code == 1
    assert f"{other}:{line}: " in home.err


def test_all_faults_are_told_at_once(home: Home) -> None:
    home.write('[budget]\nturn_usd = "a"\n[agent]\nmax_stesp = 1\n[bugdet]\nx = 1\n')
    assert [each["line"] for each in home.run("check", "--json").json] == [2, 4, 5]


@pytest.mark.parametrize(("language", "said"), [("en", "nothing is wrong"), ("ja", "問題は")])
def test_a_sound_file_is_said_to_be_sound(home: Home, language: str, said: str) -> None:
    assert said in home.run("check", language=language).out
    home.write("[budget]\nturn_usd = 1\n")
    assert str(home.file) in home.run("check", language=language).out
    assert home.code == 0
