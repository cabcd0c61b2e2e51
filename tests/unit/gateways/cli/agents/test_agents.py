"""Agents from the command line: listed, created, shown, changed and retired."""

import pytest

from opencrab.domain.agents.agent import AgentStatus, Identity
from opencrab.domain.agents.soul import Soul
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Language
from opencrab.gateways.cli.agents.agents import InterruptPolicy
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view("Ada", purpose="to count")
SAKURA = agent_view("さくら", id="sakura-id", language=Language.JA)
GONE = agent_view("Old", status=AgentStatus.RETIRED)


@pytest.fixture
def server() -> Server:
    """Three agents, one of them retired."""
    server = Server()
    server.on("GET /agents", page(ADA, SAKURA, GONE))
    for agent in (ADA, SAKURA):
        server.on(f"GET /agents/{agent['id']}", ok(agent))
    return server


def test_the_list_shows_who_would_answer(program: Program) -> None:
    shown = program.run("agents", "list")
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows == [
        ["id", "name", "status", "language", "model", "purpose"],
        ["ada-id", "Ada", "active", "en", "(default)", "to", "count"],
        ["sakura-id", "さくら", "active", "ja", "(default)"],
    ]


def test_the_list_speaks_japanese_and_shows_the_retired_when_asked(program: Program) -> None:
    shown = program.run("--language", "ja", "agents", "list", "--all")
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[0] == ["ID", "名前", "状態", "言語", "モデル", "目的"]
    assert rows[3] == ["old-id", "Old", "引退", "en", "(既定)"]


def test_a_script_gets_the_agents_as_the_server_shows_them(program: Program) -> None:
    assert program.run("agents", "list", "--json").json == [ADA, SAKURA]
    assert program.run("--json", "agents", "list", "--all").json == [ADA, SAKURA, GONE]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "there are no agents"), ("ja", "まだいません")]
)
def test_an_empty_list_says_what_to_do(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /agents", page())
    shown = program.run("--language", language, "agents", "list")
    assert said in shown.out
    assert "opencrab agents create" in shown.out
    assert program.run("agents", "list", "--json").json == []


def test_an_agent_is_created_from_options(program: Program, server: Server) -> None:
    server.on("GET /agents", page(GONE))
    server.on("POST /agents", ok(ADA, 201))
    options = ["--name", "Ada", "--persona", "a curious researcher", "--purpose", "to count"]
    more = ["--traits", "openness=0.8,hobby=chess", "--model", "openai:gpt", "--policy", "open"]
    shown = program.run("agents", "create", *options, *more)
    assert server.sent("POST") == [
        {
            "language": "en",
            "name": "Ada",
            "purpose": "to count",
            "model": "openai:gpt",
            "policy": "open",
            "soul": {
                "persona_name": "a curious researcher",
                "personality": {"openness": 0.8},
                "custom_traits": {"hobby": "chess"},
            },
        }
    ]
    assert shown.out.splitlines() == [
        "created Ada (ada-id)",
        'talk to it: opencrab chat "Ada"',
    ]


def test_an_agent_speaks_its_users_language_unless_told_otherwise(
    program: Program, server: Server
) -> None:
    server.on("GET /agents", page(ADA))
    server.on("POST /agents", ok(SAKURA, 201))
    shown = program.run("agents", "create", "--name", "さくら", LANG="ja_JP.UTF-8")
    program.run("agents", "create", "--name", "さくら", "--language", "en", LANG="ja_JP.UTF-8")
    program.run("agents", "create", "--name", "さくら", "--model", "default")
    assert server.sent("POST") == [
        {"language": "ja", "name": "さくら"},
        {"language": "en", "name": "さくら"},
        {"language": "en", "name": "さくら"},
    ]
    assert "さくら を作成しました(sakura-id)" in shown.out


def test_a_created_agent_is_json_for_a_script(program: Program, server: Server) -> None:
    server.on("GET /agents", page(GONE))
    server.on("POST /agents", ok(ADA, 201))
    assert program.run("agents", "create", "--name", "Ada", "--json").json == ADA


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "give the agent a name: --name"), ("ja", "名前を指定してください")],
)
def test_a_script_must_name_the_agent(program: Program, language: str, said: str) -> None:
    refused = program.run("--language", language, "agents", "create")
    assert refused.code == 2
    assert said in refused.err


def test_a_wrong_trait_is_named_and_nothing_is_created(program: Program, server: Server) -> None:
    refused = program.run("agents", "create", "--name", "Ada", "--traits", "opennes=1")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "opencrab: there is no numeric trait 'opennes' (traits)",
        "  → did you mean openness?",
    ]
    assert server.requests == []


def test_what_the_server_refuses_names_the_field_and_the_cure(
    program: Program, server: Server
) -> None:
    server.on("GET /agents", page())
    server.on("POST /agents", problem(422, "is too large", field="soul", cure="at most 1"))
    refused = program.run("agents", "create", "--name", "Ada", "--traits", "openness=7")
    assert (refused.code, refused.err) == (2, "opencrab: is too large (soul)\n  → at most 1\n")


@pytest.mark.parametrize("wanted", ["Ada", "ada", " ADA ", "\uff21\uff44\uff41", "ada-id"])
def test_an_agent_is_found_by_its_id_or_its_name(program: Program, wanted: str) -> None:
    assert program.run("agents", "show", wanted, "--json").json == ADA


def test_a_retired_agent_is_found_by_its_id_only(program: Program) -> None:
    assert program.run("agents", "show", "old-id", "--json").json == GONE
    assert program.run("agents", "show", "Old").code == 5


@pytest.mark.parametrize(
    ("language", "wanted", "message", "cure"),
    [
        ("en", "Adda", "there is no agent Adda", "did you mean Ada?"),
        ("ja", "さくろ", "「さくろ」というエージェントはいません", "「さくら」ではありませんか?"),
        ("en", "Zed", "there is no agent Zed", "agents: Ada, さくら"),
    ],
)
def test_an_unknown_agent_brings_the_nearest_name(
    program: Program, language: str, wanted: str, message: str, cure: str
) -> None:
    refused = program.run("--language", language, "agents", "show", wanted)
    assert refused.code == 5
    assert refused.err == f"opencrab: {message}\n  → {cure}\n"


def test_a_name_that_two_agents_share_needs_an_id(program: Program, server: Server) -> None:
    server.on("GET /agents", page(ADA, agent_view("ADA", id="other-id")))
    refused = program.run("agents", "show", "Ada")
    assert "2 agents are called Ada" in refused.err
    assert "ada-id, other-id" in refused.err


@pytest.mark.parametrize(
    ("language", "name", "said"),
    [
        (
            "en",
            " ada",
            "opencrab: an agent is called Ada already (ada-id)\n"
            "  → choose another name, or rename that agent: "
            "opencrab agents edit ada-id --name NAME\n",
        ),
        (
            "ja",
            "さくら",
            "opencrab: 「さくら」という名前のエージェントがすでにいます(sakura-id)\n"
            "  → 別の名前にするか、そのエージェントの名前を変えてください: "
            "opencrab agents edit sakura-id --name NAME\n",
        ),
    ],
)
def test_a_name_that_an_agent_has_is_not_given_to_another(
    program: Program, server: Server, language: str, name: str, said: str
) -> None:
    refused = program.run("--language", language, "agents", "create", "--name", name)
    assert (refused.code, refused.out, refused.err) == (6, "", said)
    other = {"ja": "Ada", "en": "さくら"}[language]
    refused = program.run("--language", language, "agents", "edit", other, "--name", name)
    assert (refused.code, refused.out, refused.err) == (6, "", said)
    assert server.sent("POST") == server.sent("PATCH") == server.sent("PUT") == []


def test_the_name_of_a_retired_agent_is_free_and_a_name_may_change_its_case(
    program: Program, server: Server
) -> None:
    server.on("POST /agents", ok(agent_view("Old", id="new-id"), 201))
    for place in ("PATCH /agents/ada-id", "PUT /agents/ada-id/soul", "PUT /agents/ada-id/identity"):
        server.on(place, ok(ADA))
    assert program.run("agents", "create", "--name", "Old").code == 0
    program.run("agents", "edit", "Ada", "--name", "ADA")
    assert server.sent("PATCH") == [{"name": "ADA"}]


def test_a_portrait_shows_the_personality(program: Program, server: Server) -> None:
    soul = Soul(persona_name="Countess", custom_traits={"趣味": "将棋"})
    server.on("GET /agents", page(agent_view("Ada", soul=soul, day_limit_micro_usd=1_500_000)))
    english = program.run("agents", "show", "Ada").out
    japanese = program.run("--language", "ja", "agents", "show", "Ada").out
    assert ["daily", "limit", "$1.50"] in [line.split() for line in english.splitlines()]
    assert "openness" in english
    assert "━━━━━╌╌╌╌╌ 0.5" in english
    for text in ("開放性", "ペルソナ", "Countess", "趣味", "将棋", "活動中"):
        assert text in japanese


def test_words_of_an_agent_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    evil = "\x1b]0;owned\x07Eve\u202e\x1b[2J"
    eve = agent_view("Eve")
    soul = {**eve["soul"], "persona_name": evil, "custom_traits": {evil: evil}}
    server.on("GET /agents", page({**eve, "name": evil, "purpose": evil, "soul": soul}))
    for args in (["agents", "list"], ["agents", "show", "eve-id"], ["agents", "list", "--json"]):
        shown = program.run(*args)
        assert shown.code == 0
        assert not set(shown.out + shown.err) & set("\x1b\x07\u202e")
        assert "Eve" in shown.out


def test_an_option_changes_only_what_it_names(program: Program, server: Server) -> None:
    server.on("PATCH /agents/ada-id", ok({}))
    server.on("GET /agents/ada-id", ok({**ADA, "purpose": "数える"}))
    shown = program.run("agents", "edit", "Ada", "--purpose", "数える", "--model", "default")
    assert server.sent("PATCH") == [{"purpose": "数える"}]
    assert shown.out == "updated Ada\n"
    patch = next(request for request in server.requests if request.method == "PATCH")
    assert patch.headers["If-Match"] == '"1"'


def test_a_new_name_is_also_the_personas_and_the_identitys(
    program: Program, server: Server
) -> None:
    for route in ("PUT /agents/ada-id/soul", "PUT /agents/ada-id/identity", "PATCH /agents/ada-id"):
        server.on(route, ok({}))
    program.run("agents", "edit", "Ada", "--name", "アダ")
    soul, identity = server.sent("PUT")
    assert (soul["persona_name"], identity["name"]) == ("アダ", "アダ")
    assert server.sent("PATCH") == [{"name": "アダ"}]


def test_a_persona_of_its_own_stays_when_the_name_changes(program: Program, server: Server) -> None:
    soul, identity = Soul(persona_name="Countess"), Identity(name="Ada L.")
    server.on("GET /agents", page(agent_view("Ada", soul=soul, identity=identity)))
    server.on("PATCH /agents/ada-id", ok({}))
    program.run("agents", "edit", "Ada", "--name", "アダ")
    assert server.sent("PUT") == []
    assert server.sent("PATCH") == [{"name": "アダ"}]


def test_traits_and_model_can_be_set_and_taken_back(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("Ada", model="openai:gpt")))
    server.on("PUT /agents/ada-id/soul", ok({}))
    server.on("PATCH /agents/ada-id", ok({}))
    edit = ["agents", "edit", "Ada", "--traits", "openness=0.1", "--model", "default", "--json"]
    assert program.run(*edit).json == ADA
    assert server.sent("PUT")[0]["personality"]["openness"] == 0.1
    assert server.sent("PATCH") == [{"model": None}]
    assert [request.headers.get("If-Match") for request in server.requests[1:3]] == ['"1"', None]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Ada was not changed\n"), ("ja", "Ada は変更していません\n")]
)
def test_a_change_to_the_same_changes_nothing(
    program: Program, server: Server, language: str, said: str
) -> None:
    edit = ["--language", language, "agents", "edit", "Ada", "--name", "Ada"]
    assert program.run(*edit).out == said
    assert {request.method for request in server.requests} == {"GET"}


def test_a_change_without_anything_to_change_is_a_usage_error(program: Program) -> None:
    refused = program.run("agents", "edit", "Ada")
    assert refused.code == 2
    assert "say what to change" in refused.err


def test_a_change_of_somebody_else_in_between_is_told(program: Program, server: Server) -> None:
    server.on("PATCH /agents/ada-id", problem(409, "it has changed", cure="read it again"))
    refused = program.run("agents", "edit", "Ada", "--name", "Eve", "--persona", "x")
    assert refused.code == 5
    assert "Traceback" not in refused.err


def test_an_agent_retires_when_it_is_confirmed(program: Program, server: Server) -> None:
    server.on("DELETE /agents/ada-id", ok({**ADA, "status": "retired"}))
    assert program.run("agents", "retire", "Ada", "--yes").out == "retired Ada\n"
    retired = program.run("agents", "retire", "ada-id", "--yes", "--json")
    assert retired.json["status"] == "retired"


@pytest.mark.parametrize(("language", "said"), [("en", "--yes"), ("ja", "--yes で確認")])
def test_a_script_retires_nobody_by_accident(
    program: Program, server: Server, language: str, said: str
) -> None:
    refused = program.run("--language", language, "agents", "retire", "Ada")
    assert refused.code == 2
    assert said in refused.err
    assert {request.method for request in server.requests} == {"GET"}


@pytest.mark.parametrize(("said", "sent"), [("2.50", 2_500_000), ("0", 0), ("default", None)])
def test_an_agent_gets_a_limit_of_its_own_for_the_day(
    program: Program, server: Server, said: str, sent: int | None
) -> None:
    before = {**ADA, "day_limit_micro_usd": 1_000_000}
    server.on("GET /agents", page(before))
    server.on("GET /agents/ada-id", ok(before))
    server.on("PATCH /agents/ada-id", ok(before))
    assert program.run("agents", "edit", "Ada", "--day", said).code == 0
    assert server.sent("PATCH") == [{"day_limit_micro_usd": sent}]


@pytest.mark.parametrize(("said", "sent"), [("Asia/Tokyo", "Asia/Tokyo"), ("default", None)])
def test_an_agent_gets_a_time_zone_of_its_own(
    program: Program, server: Server, said: str, sent: str | None
) -> None:
    before = {**ADA, "time_zone": "Europe/Berlin"}
    server.on("GET /agents", page(before))
    server.on("GET /agents/ada-id", ok(before))
    server.on("PATCH /agents/ada-id", ok(before))
    assert program.run("agents", "edit", "Ada", "--time-zone", said).code == 0
    assert server.sent("PATCH") == [{"time_zone": sent}]


def test_a_limit_for_the_day_that_is_no_amount_is_refused(program: Program, server: Server) -> None:
    refused = program.run("agents", "edit", "Ada", "--day", "much")
    assert refused.code == 2
    assert "US dollars" in refused.err
    assert server.sent("PATCH") == []


def test_the_policies_of_interrupts_are_those_of_the_domain() -> None:
    assert [each.value for each in InterruptPolicy] == [each.value for each in Interrupt]


@pytest.mark.parametrize("policy", list(InterruptPolicy))
def test_an_agents_policy_of_interrupts_is_set(
    program: Program, server: Server, policy: InterruptPolicy
) -> None:
    ada = agent_view("Ada")
    server.on("GET /agents", page(ada))
    server.on("PATCH /agents/ada-id", ok(ada))
    server.on("GET /agents/ada-id", ok(ada))
    said = program.run("agents", "edit", "Ada", "--interrupt", policy.value)
    assert said.code == 0, said.out
    changed = [{"interrupt": policy.value}] if policy is not InterruptPolicy.AFTER_STEP else []
    assert server.sent("PATCH") == changed


def test_a_folder_is_shown_to_its_owner(program: Program, server: Server) -> None:
    kept = {"items": [{"place": "vault", "folder": "/home/ada/ノート"}]}
    server.on("GET /agents/ada-id/folders", ok(kept))
    shown = program.run("--language", "ja", "agents", "show", "Ada").out
    assert ["ボルトのフォルダー", "/home/ada/ノート"] in [
        line.split() for line in shown.splitlines()
    ]
