"""Models by name: what is there, what is missing, and what an owner changes meanwhile."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread

import pytest
from pydantic import ValidationError

from opencrab.adapters.providers.catalogue.configuration import (
    SCRIPTED,
    ModelsSettings,
    ProviderSettings,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, NotFound, Unavailable
from opencrab.domain.models.preferences import Preferences, ProviderChange
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.contract.example import NOW
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.installed import (
    SETTINGS,
    Shelf,
    address_asked,
    models_and_transport,
)


@pytest.mark.parametrize(
    ("name", "full_name", "url"),
    [
        (None, "openai:gpt-4o-mini", "https://api.openai.com/v1/chat/completions"),
        ("openai", "openai:gpt-4o", "https://api.openai.com/v1/chat/completions"),
        ("速い", "ollama:llama3.1:8b", "http://localhost:11434/api/chat"),
        ("最速", "ollama:llama3.1:8b", "http://localhost:11434/api/chat"),
        ("ollama:qwen3:4b", "ollama:qwen3:4b", "http://localhost:11434/api/chat"),
        ("llamacpp", "llamacpp:default", "http://localhost:8080/v1/chat/completions"),
        ("海", "海:crab", "https://sea.example/v1/chat/completions"),
        ("anthropic:c-4.6", "anthropic:c-4.6", "https://api.anthropic.com/v1/messages"),
    ],
)
def test_a_model_is_found_by_its_name_its_provider_or_an_alias(
    name: str | None, full_name: str, url: str
) -> None:
    models, transport = models_and_transport()
    model = models.get(name)
    assert model.info.name == full_name
    assert address_asked(model, transport) == url


def test_a_model_is_made_once() -> None:
    models, _ = models_and_transport()
    assert models.get("速い") is models.get("ollama:llama3.1:8b")


@pytest.mark.parametrize("name", ["scripted", "scripted:rules"])
def test_the_scripted_model_is_always_there_and_needs_no_network(name: str) -> None:
    def network() -> Transport:
        raise AssertionError("no network is needed")

    model = ProviderModels(ModelsSettings, network).get(name)
    assert model.info.price == FREE
    assert model.info.notes


def test_a_scripted_provider_may_have_a_script_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "台本.toml"
    script.write_text('[[answers]]\ntext = "台本どおり"\n', encoding="utf-8")
    provider = ProviderSettings("play", "scripted", script=str(script))
    models, _ = models_and_transport(ModelsSettings().with_provider(provider))
    request = ChatRequest("", (), "", (ChatMessage("user", "やあ", name="rin"),), 50)
    model = models.get("play")
    assert model.chat(request, model.encode(request)).text == "台本どおり"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nobody", "'nobody'"), ("nobody:x", "'nobody'"), ("ollama", "no default"),
        ("anthropic", "no default"), ("google:x", "'google'"), ("keyless:x", "CLAUDE_KEY"),
        ("absent:x", "ABSENT_KEY"), (":", "''"), ("海賊", "'海賊'"), ("円", "円 → 輪 → 円"),
        ("off:x", "disabled"),
    ],
)  # fmt: skip
def test_a_model_that_is_not_there_is_invalid_and_told_why(name: str, told: str) -> None:
    models, _ = models_and_transport()
    with pytest.raises(Invalid, match=told) as caught:
        models.get(name)
    assert caught.value.field == "model"
    assert caught.value.cure


def test_openai_without_a_key_names_the_variable() -> None:
    bare = ModelsSettings().with_provider(
        ProviderSettings("openai", "openai", key_name="OPENAI_API_KEY", default_model="gpt-4o")
    )
    with pytest.raises(Invalid, match="OPENAI_API_KEY"):
        models_and_transport(bare)[0].get("openai")


def test_a_newer_version_is_taken_over_and_an_older_one_is_not_read() -> None:
    shelf = Shelf()
    models = shelf.models()
    assert "new" not in models.routing.aliases
    version = shelf.put(aliases={"new": "ollama:x"}, fallback=("new",))
    models.refresh(0)
    assert "new" not in models.routing.aliases
    models.refresh(version)
    assert models.routing.aliases == {"new": "ollama:x"}
    assert models.routing.fallback == ("new",)
    assert models.get("new").info.name == "ollama:x"
    reads = shelf.reads
    models.refresh(version)
    assert shelf.reads == reads


def test_a_silent_store_leaves_everything_as_it_was_and_is_asked_again() -> None:
    shelf = Shelf()
    models = shelf.models()
    before = models.get("速い")
    version = shelf.put(providers={"ollama": ProviderChange(enabled=False)})
    shelf.trouble = Unavailable("no answer")
    models.refresh(version)
    assert models.get("速い") is before
    shelf.trouble = None
    models.refresh(version)
    with pytest.raises(Invalid, match="disabled"):
        models.get("速い")


def test_a_store_that_is_silent_at_first_is_told_and_not_ignored() -> None:
    shelf = Shelf()
    shelf.trouble = Unavailable("no answer")
    with pytest.raises(Unavailable):
        shelf.models().get(None)


def test_a_broken_configuration_leaves_the_last_one_in_use() -> None:
    shelf = Shelf()
    broken: list[Invalid] = []

    def configured() -> ModelsSettings:
        if broken:
            raise broken[0]
        return SETTINGS

    models = shelf.models(configured)
    before = models.get(None)
    broken.append(Invalid("broken"))
    models.refresh(shelf.put())
    assert models.get(None) is before


def test_stored_preferences_that_cannot_be_read_do_not_stop_anything() -> None:
    shelf = Shelf()
    shelf.trouble = Invalid("broken document")
    assert shelf.models().get(None).info.name == "openai:gpt-4o-mini"


def test_settings_are_read_again_after_a_while_and_equal_ones_keep_their_models() -> None:
    clock, found = FakeClock(NOW), [SETTINGS]
    models = ProviderModels(
        lambda: found[0], lambda: Replying(b""), now=clock.now, keep_for=timedelta(minutes=5)
    )
    before = models.get(None)
    clock.advance(300)
    assert models.get(None) is before
    found[0] = SETTINGS.with_provider(ProviderSettings("openai", "openai", api_key="sk-2"))
    assert models.get(None) is before
    clock.advance(300)
    assert models.get(None) is not before


def test_many_threads_see_whole_settings_only() -> None:
    shelf, seen = Shelf(aliases={"a": "ollama:0"}, fallback=("ollama:0",)), []
    models = shelf.models()

    def look() -> None:
        for _ in range(50):
            routing = models.routing
            seen.append(routing.aliases["a"] == routing.fallback[0])
            models.get("a")

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        name = f"ollama:{number}"
        models.refresh(shelf.put(aliases={"a": name}, fallback=(name,)))
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert all(seen)


def test_every_provider_is_listed_with_what_it_lacks_and_no_key() -> None:
    states = {each.name: each for each in models_and_transport()[0].providers()}
    assert {*SETTINGS.providers, "scripted"} == set(states)
    assert states["absent"].missing == "ABSENT_KEY"
    assert states["openai"].has_key
    assert not states["off"].enabled
    assert states["openai"].default_model == "gpt-4o"
    assert "sk-1" not in repr(states)


def test_known_models_are_those_that_are_named_and_those_of_usable_providers() -> None:
    listing = {
        "openai:gpt-x": {"input": 1, "output": 2},
        "openrouter:a/b": {"input": 1, "output": 2},
        "absent:y": {},
    }
    settings = replace(SETTINGS, listing=lambda: {"models": listing})
    names = [info.name for info in models_and_transport(settings)[0].infos()]
    assert names == sorted(names)
    assert {"openai:gpt-x", "openai:gpt-4o-mini", "ollama:llama3.1:8b", SCRIPTED} <= set(names)
    assert not {"openrouter:a/b", "absent:y"} & set(names)


def test_health_asks_the_provider_and_tells_what_keeps_it_from_asking() -> None:
    transport = Replying(b'{"data":[{"id":"gpt-4o"}]}')
    models = ProviderModels(lambda: SETTINGS, lambda: transport)
    well = models.health("openai", timeout_seconds=3)
    assert (well.ok, well.models) == (True, ("gpt-4o",))
    assert transport.sent[-1].body is None
    absent = models.health("absent", timeout_seconds=3)
    assert not absent.ok
    assert "ABSENT_KEY" in absent.problem
    assert models.health("scripted", timeout_seconds=3).ok
    with pytest.raises(NotFound, match="nobody"):
        models.health("nobody", timeout_seconds=3)
    assert len(transport.sent) == 1


def test_the_model_for_embeddings_is_that_of_the_use() -> None:
    models, _ = models_and_transport(replace(SETTINGS, uses={Use.EMBEDDING: "openai:embed"}))
    assert models.embedder(None).info.name == "openai:embed"
    assert models.embedder("ollama:bge").info.name == "ollama:bge"
    for name, told in (("anthropic:x", "no embeddings"), ("scripted", "no embeddings")):
        with pytest.raises(Invalid, match=told):
            models.embedder(name)
    with pytest.raises(Invalid, match="no embedding model is configured"):
        models_and_transport()[0].embedder(None)


def test_of_many_who_hear_of_a_newer_version_one_reads_it() -> None:
    shelf = Shelf()
    models = shelf.models()
    models.get("openai")
    version, before = shelf.put(aliases={"new": "openai:gpt-4o"}), shelf.reads
    gate = Barrier(20)

    def hear() -> None:
        gate.wait()
        models.refresh(version)

    threads = [Thread(target=hear) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shelf.reads == before + 1
    assert models.get("new").info.name == "openai:gpt-4o"


def test_preferences_that_cannot_be_read_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf(aliases={"new": "openai:gpt-4o"})
    try:
        Preferences.model_validate({"aliases": {"SECRET WORDS": "x"}})
    except ValidationError as error:
        shelf.trouble = error
    models = shelf.models()
    assert models.get("openai").info.name == "openai:gpt-4o"
    models.refresh(5)
    assert "ignoring" in caplog.text
    assert "SECRET" not in caplog.text
    shelf.trouble = None
    models.refresh(shelf.put(aliases={"new": "openai:gpt-4o"}))
    assert models.get("new").info.name == "openai:gpt-4o"


def test_what_changes_outside_is_read_again_and_what_is_wrong_there_only_once() -> None:
    stamp, readings = [1], list[str]()

    def configured() -> ModelsSettings:
        readings.append("read")
        if stamp[0] == 2:
            raise Invalid("the file is wrong")
        return replace(SETTINGS, aliases={f"alias{stamp[0]}": "ollama:x"})

    models = ProviderModels(configured, Replying, stamp=lambda: stamp[0])
    assert [set(models.routing.aliases) for _ in range(3)] == [{"alias1"}] * 3
    stamp[0] = 2
    assert [set(models.routing.aliases) for _ in range(3)] == [{"alias1"}] * 3
    assert len(readings) == 2
    stamp[0] = 3
    assert set(models.routing.aliases) == {"alias3"}
