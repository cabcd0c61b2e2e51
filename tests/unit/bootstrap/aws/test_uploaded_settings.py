"""The settings file on AWS: what counts when it changes, is wrong, or cannot be read."""

import logging
from collections.abc import Mapping

import pytest

from opencrab.adapters.door.settings_object import StoredSettings
from opencrab.bootstrap.aws.uploaded_settings import (
    LOOK_SECONDS,
    FollowingFunction,
    UploadedSettings,
)
from opencrab.domain.errors import Unavailable
from opencrab.settings import EffectiveSetting, Settings

PARAMETERS = {
    "OPENCRAB_LLM__DEFAULT_PROVIDER": "bedrock",
    "OPENCRAB_LLM__DEFAULT_MODEL": "us.amazon.nova-2-lite-v1:0",
    "OPENCRAB_BUDGET__AGENT_DAY_USD": "1",
    "OPENCRAB_AWS__TABLE": "opencrab-dev",
}
ALIASES = b"""[llm.aliases]
fast = "openai:gpt-5-nano"
"""
WRONG = b"""[web]
alow = ["https://example.org/"]
"""


class Shelf:
    """An object of a bucket as it is read, and how often it was."""

    def __init__(self, content: bytes | None = None) -> None:
        self.content = content
        self.reads = 0
        self.is_silent = False

    def read(self, etag: str = "") -> StoredSettings | None:
        self.reads += 1
        if self.is_silent:
            raise Unavailable("S3 does not answer")
        if self.content is None:
            return StoredSettings(b"", "") if etag else None
        now = f'"{hash(self.content)}"'
        return None if now == etag else StoredSettings(self.content, now)


class Watch:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_a_look(self) -> None:
        """Let the time pass after which the file is asked for again."""
        self.seconds += LOOK_SECONDS


def uploaded(
    current: Shelf, checked: Shelf | None = None, environment: Mapping[str, str] = PARAMETERS
) -> tuple[UploadedSettings, Watch]:
    """The settings of a process that has read nothing yet."""
    watch = Watch()
    return UploadedSettings(current, checked, watch, environment), watch


def test_nothing_is_read_before_the_first_event() -> None:
    shelf = Shelf(ALIASES)
    made, _ = uploaded(shelf)
    assert made.load({}).get("llm.aliases.fast.model") == "gpt-5-mini"
    assert shelf.reads == 0


def test_a_file_counts_from_the_first_look_on_and_names_its_lines() -> None:
    made, _ = uploaded(Shelf(ALIASES))
    assert made.look()
    found = made.load({}).effective("llm.aliases.fast")
    assert found == EffectiveSetting("openai:gpt-5-nano", "settings/config.toml:2")
    assert made.state.version


def test_an_installation_without_a_file_has_the_parameters() -> None:
    made, _ = uploaded(Shelf())
    assert not made.look()
    assert made.load({}).get("budget.agent_day_usd") == 1.0
    assert (made.state.version, made.state.problem) == ("", "")


def test_a_new_file_counts_after_a_look_and_a_warm_function_looks_once_in_thirty_seconds() -> None:
    shelf = Shelf()
    made, watch = uploaded(shelf)
    assert not made.look()
    shelf.content = b"[web]\nallow = ['https://docs.example.org/']\n"
    for _ in range(100):
        assert not made.look()
    assert shelf.reads == 1
    watch.pass_a_look()
    assert made.look()
    assert made.load({}).get("web.allow") == ["https://docs.example.org/"]
    watch.pass_a_look()
    assert not made.look()
    assert shelf.reads == 3


def test_a_file_overrides_parameters_and_no_other_variable() -> None:
    file = b"[budget]\nagent_day_usd = 0.25\nturn_usd = 0.1\n"
    environment = {**PARAMETERS, "OPENCRAB_BUDGET__TURN_USD": "0.3"}
    made, _ = uploaded(Shelf(file), environment=environment)
    made.look()
    found = made.load({})
    assert found.get("budget.agent_day_usd") == 0.25
    assert found.effective("budget.turn_usd") == EffectiveSetting(0.3, "OPENCRAB_BUDGET__TURN_USD")


def test_a_file_that_names_a_provider_replaces_the_model_of_another_one() -> None:
    made, _ = uploaded(Shelf(b"[llm]\ndefault_provider = 'anthropic'\n"))
    made.look()
    found = made.load({})
    assert found.get("llm.default_provider") == "anthropic"
    assert found.effective("llm.default_model").source == "default.toml"


def test_a_wrong_file_leaves_what_was_read_and_says_where_it_is_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = Shelf(ALIASES)
    made, watch = uploaded(shelf)
    made.look()
    version = made.state.version
    shelf.content = WRONG
    watch.pass_a_look()
    with caplog.at_level(logging.ERROR):
        assert not made.look()
    assert made.load({}).get("llm.aliases.fast") == "openai:gpt-5-nano"
    assert made.state.version == version
    assert made.state.problem.startswith("settings/config.toml:2: there is no setting web.alow")
    assert made.state.cure == "did you mean web.allow?"
    assert "settings/config.toml:2" in caplog.text
    shelf.content = ALIASES + b"smart = 'openai:gpt-5.2'\n"
    watch.pass_a_look()
    assert made.look()
    assert made.state.problem == ""


def test_a_new_process_takes_the_last_checked_file_for_a_wrong_one() -> None:
    made, _ = uploaded(Shelf(WRONG), Shelf(ALIASES))
    assert made.look()
    assert made.load({}).get("llm.aliases.fast") == "openai:gpt-5-nano"
    assert made.state.problem


def test_a_new_process_waits_for_the_checked_copy_of_a_wrong_file() -> None:
    checked = Shelf(b"[budget]\nagent_day_usd = 0.25\n")
    checked.is_silent = True
    made, _ = uploaded(Shelf(WRONG), checked)
    for _ in range(2):
        with pytest.raises(Unavailable):
            made.look()
    checked.is_silent = False
    assert made.look()
    assert made.load({}).get("budget.agent_day_usd") == 0.25
    assert made.state.problem


@pytest.mark.parametrize("checked", [None, Shelf(), Shelf(WRONG)])
def test_without_a_right_one_the_parameters_count(checked: Shelf | None) -> None:
    made, _ = uploaded(Shelf(WRONG), checked)
    assert not made.look()
    assert made.load({}).get("llm.default_provider") == "bedrock"
    assert made.state.problem


@pytest.mark.parametrize(
    ("file", "what"),
    [
        (b"[llm.aliases]\nfast = 'nobody:x'\n", "nobody"),
        (b"[search]\nbackend = 'efs'\n", "search.backend cannot be set in a file on AWS"),
        (b"[search]\nvectors = true\n", "search.vectors cannot be set in a file on AWS"),
        (b"[llm.providers.openai]\napi_key = 'sk-1'\n", "api_key"),
        (b"[web.search]\nkind = 'searxng'\nbase_url = 'ftp://x'\n", "web.search.base_url"),
        (b"\xff\xfe", "UTF-8"),
        (b"x" * 300_000, "larger"),
        (b"= 1", "no name of a setting"),
    ],
)
def test_what_only_fails_together_or_on_aws_is_refused_too(file: bytes, what: str) -> None:
    made, _ = uploaded(Shelf(file))
    assert not made.look()
    assert what in made.state.problem
    assert made.state.cure
    assert "sk-1" not in made.state.problem


def test_silence_keeps_what_was_read() -> None:
    shelf = Shelf(ALIASES)
    made, watch = uploaded(shelf)
    made.look()
    shelf.is_silent = True
    watch.pass_a_look()
    assert not made.look()
    assert made.load({}).get("llm.aliases.fast") == "openai:gpt-5-nano"


def test_a_process_that_never_read_the_file_waits_since_a_limit_may_be_in_it() -> None:
    shelf = Shelf(ALIASES)
    shelf.is_silent = True
    made, _ = uploaded(shelf)
    with pytest.raises(Unavailable):
        made.look()
    shelf.is_silent = False
    assert made.look()


def test_a_file_that_is_removed_leaves_the_parameters() -> None:
    shelf = Shelf(ALIASES)
    made, watch = uploaded(shelf)
    made.look()
    shelf.content = None
    watch.pass_a_look()
    assert made.look()
    assert made.load({}).get("llm.aliases.fast.model") == "gpt-5-mini"


def test_a_function_is_built_again_for_other_settings_only() -> None:
    shelf = Shelf(ALIASES)
    made, watch = uploaded(shelf)
    function = FollowingFunction(lambda settings, _load: [settings.get("web.allow")], made)
    first = function.current()
    assert function.current() is first
    shelf.content = b"[web]\nallow = ['https://a.example.org/']\n"
    watch.pass_a_look()
    assert function.current() == [["https://a.example.org/"]]
    shelf.content += b"# a comment\n"
    second = function.current()
    watch.pass_a_look()
    assert function.current() is second


def test_a_function_that_could_not_be_built_does_not_go_on_with_the_limits_before() -> None:
    shelf, faults = Shelf(), [Unavailable("the table does not answer")]

    def build(settings: Settings, _load: object) -> float:
        limit = float(settings.get("budget.agent_day_usd"))
        if limit == 0.25 and faults:
            raise faults.pop()
        return limit

    made, watch = uploaded(shelf)
    function = FollowingFunction(build, made)
    assert function.current() == 1.0
    shelf.content = b"[budget]\nagent_day_usd = 0.25\n"
    watch.pass_a_look()
    with pytest.raises(Unavailable):
        function.current()
    assert function.current() == 0.25
