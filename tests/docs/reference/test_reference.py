"""The reference has everything that the code has, in each language."""

from collections.abc import Callable

import pytest

from opencrab.actions import GROUPS
from opencrab.domain.errors import Invalid, NoRoom, OpenCrabError
from opencrab.domain.value import Language
from opencrab.engine.bundle.writer import BUNDLE_MEMBERS, MANIFEST
from tests.docs.reference import cli, configuration, environment, errors, events, metrics, rest
from tests.docs.reference.pages import COMMAND, FOLDER, PAGES, files
from tests.docs.reference.section import Section, entries
from tests.docs.reference.text import sentences

Sections = Callable[[Language], list[Section]]

IN_SECTIONS: dict[str, Sections] = {
    "environment": environment.sections,
    "errors": errors.sections,
    "events": events.sections,
    "metrics": metrics.sections,
}
"""Pages whose every word stands in a TOML file of the same name."""

LANGUAGES = pytest.mark.parametrize("language", list(Language))


def kept(name: str, language: Language) -> str:
    ending = ".ja.md" if language is Language.JA else ".md"
    return (FOLDER / f"{name}{ending}").read_text(encoding="utf-8")


WRITTEN = {"stack-parameters.md", "stack-parameters.ja.md", "bundle.md", "bundle.ja.md"}
"""Pages written by hand, which other tests hold against the template and the code."""


def test_the_pages_are_what_the_code_says() -> None:
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    made = files()
    assert {name for name in made if made[name] != stored.get(name)} == set(), f"run `{COMMAND}`"
    assert stored.keys() - WRITTEN == made.keys()


@LANGUAGES
def test_every_member_of_a_bundle_is_there(language: Language) -> None:
    page = kept("bundle", language)
    assert [name for name in (MANIFEST, *BUNDLE_MEMBERS) if f"`{name}`" not in page] == []


@LANGUAGES
def test_every_setting_is_there(language: Language) -> None:
    names = configuration.settings()
    assert len(names) > 100
    page = kept("configuration", language)
    assert not [name for name in names if f"| `{name}` |" not in page]


@LANGUAGES
def test_every_route_is_there(language: Language) -> None:
    assert len(rest.routes()) > 150
    page = kept("rest", language)
    assert not [route for route in rest.routes() if f"| `{route}` |" not in page]


@LANGUAGES
def test_every_command_is_there_with_its_options(language: Language) -> None:
    commands = cli.commands()
    assert len(commands) > 90
    page = kept("cli", language)
    for name, command in commands.items():
        assert f"\n## {name}\n" in page
        assert not [each.name for each in cli.parameters(command) if cli.shown(each) not in page], (
            name
        )


@LANGUAGES
def test_every_action_is_there(language: Language) -> None:
    page = kept("actions", language)
    names = [action.name for group in GROUPS for action in group.actions]
    assert len(names) > 50
    assert not [name for name in names if f"| `{name}` |" not in page]


@pytest.mark.parametrize("name", ["configuration", "pages", *IN_SECTIONS])
def test_what_only_the_reference_says_is_said_in_both_languages(name: str) -> None:
    for about, said in sentences(name).items():
        assert said.keys() == {language.value for language in Language}, about
        assert all(said.values()), about


def test_english_sentences_of_routes_are_their_summaries_and_only_japanese_is_kept_here() -> None:
    assert {tuple(said) for said in sentences("rest").values()} == {(Language.JA.value,)}
    english = kept("rest", Language.EN)
    for route, operation in rest.routes().items():
        assert f"| `{route}` | {operation['summary']}" in english
        assert operation["summary"].endswith("."), route


def test_nothing_is_described_that_is_not_there() -> None:
    names = (*configuration.settings(), *configuration.unset_settings())
    described = {configuration.described_by(name) for name in names}
    assert set(sentences("configuration")) == described
    operations = {each["operationId"] for each in rest.routes().values()}
    assert set(sentences("rest")) == operations


@pytest.mark.parametrize("name", IN_SECTIONS)
def test_a_page_in_sections_explains_all_that_the_code_has_and_nothing_else(name: str) -> None:
    needed, written = entries(IN_SECTIONS[name](Language.EN)), set(sentences(name))
    missing, superfluous = needed - written, written - needed
    assert not missing, f"add them to {name}.toml, in both languages"
    assert not superfluous, f"remove them from {name}.toml"


def test_the_page_of_errors_has_the_kinds_codes_and_statuses_that_there_are() -> None:
    assert {OpenCrabError, NoRoom, Invalid} < set(errors.kinds())
    assert set(errors.other_codes()) == {"internal", "method-not-allowed"}
    assert errors.notices()["failed"] == {"failed", "idle"}
    assert {"turn", "session:ID", "units"} < set(errors.budget_fields().values())
    assert {1003, 1008, 1013} < errors.close_codes()
    assert {0, 1, 2, 130} < errors.exit_codes()


def test_the_page_of_events_has_every_event_that_the_code_writes() -> None:
    assert set(events.live_fields()) == events.named_events()
    assert {"messageId", "role", "name", "delta"} == set(events.live_fields()["TEXT_MESSAGE_CHUNK"])
    assert {"sequence", "state", "status"} < set(events.metadata_fields())
    assert all(events.sent_fields().values())
    assert set(events.reply_fields()) == {"pong", "answer", "error"}
    assert "after?" in events.frame_fields()["subscribe"]


def test_the_page_of_metrics_has_what_is_counted_watched_and_logged() -> None:
    assert {"SpentMicroUsd", "NightFailures", "PriceFailures"} < set(metrics.emitted())
    ours = {name.split()[1] for name in metrics.watched() if name.startswith("OpenCrab ")}
    assert ours <= set(metrics.emitted())
    assert len(metrics.alarms()) == 5
    assert {"turn_id", "message", "exception"} < set(metrics.log_keys())
    assert {"route", "latency_ms"} < set(metrics.access_log_keys())


def test_the_page_of_variables_has_those_that_are_read_anywhere() -> None:
    assert {"OPENCRAB_URL", "LC_ALL", "EDITOR"} < set(environment.read_by_command())
    assert "llm.providers.openai.api_key" in environment.keys_in_settings()["OPENAI_API_KEY"]
    assert {"AWS_ENDPOINT_URL_*", "HTTPS_PROXY"} < set(environment.read_by_package())
    assert {"AWS_PROFILE", "PATH"} < set(environment.read_by_deployment())
    assert len(environment.given_to_functions()) > 30
    assert {"ARGS", "TESTS_FOLLOW"} < set(environment.read_by_make())
    assert {"OPENCRAB_SOAK", "OPENCRAB_WIRE"} < set(environment.read_by_tests())


def test_a_template_sets_only_variables_that_something_reads() -> None:
    known = {*environment.read_by_package()}
    given = environment.given_to_functions()
    assert not [name for name, (_, setting) in given.items() if not setting and name not in known]


def test_each_command_is_described_in_japanese() -> None:
    english, japanese = (PAGES["cli"](language).splitlines() for language in Language)
    same = {
        line
        for line in set(english) & set(japanese)
        if line and not line.startswith(("#", "|")) and line.isascii()
    }
    assert not same
