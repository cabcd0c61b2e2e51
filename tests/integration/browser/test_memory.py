"""Memory in Chromium before a real `opencrab up`: search, curate, forget, the graph, the export."""

import io
import json
import zipfile

import httpx
import pytest

from opencrab.domain.memory.knowledge_graph import knowledge_node_id
from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, nothing_ran
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.test_sessions import SAVED, saved_names
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)

AT = "2026-02-17T00:00:00Z"
PANEL = "#panel-memory_curated"
KINDS = ("memory", "experience", "impression", "summary", "node", "edge", "belief", "peer")


def know(installation: Installation, agent: str, labels: tuple[str, ...]) -> None:
    """Give an agent nodes, each of which belongs to the first."""
    ids = [knowledge_node_id(label) for label in labels]
    nodes = [
        {"id": own, "label": label, "content": f"{label} {label}", "updated_at": AT}
        for own, label in zip(ids, labels, strict=True)
    ]
    edges = [
        {"origin": own, "target": ids[0], "relation": "belongs_to", "updated_at": AT}
        for own in ids[1:]
    ]
    rows = {"node": nodes, "edge": edges}
    counts = {kind: len(rows.get(kind, [])) for kind in KINDS}
    about = {"format": "opencrab-memory", "version": 1, "agent_id": agent, "exported_at": AT}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("manifest.json", json.dumps({**about, "rows": counts}))
        for kind in KINDS:
            file.writestr(
                f"{kind}.jsonl", "".join(f"{json.dumps(r)}\n" for r in rows.get(kind, []))
            )
    answer = httpx.post(
        f"{installation.url}api/agents/{agent}/memory/import",
        content=archive.getvalue(),
        headers={"authorization": f"Bearer {KEY}", "content-type": "application/zip"},
    )
    assert answer.status_code == 200, answer.text


def test_a_memory_is_added_corrected_found_and_forgotten(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Keeper")
    memories = f"/agents/{agent}/memory/curated"
    installation.sign_in(window, at=f"/agents/{agent}/memory")
    window.click("#tab-memory_curated")
    window.click(f"{PANEL} .creation-form summary")
    window.type(f"{PANEL} textarea", "灯台は青い the lighthouse is blue")
    window.click(f"{PANEL} .creation-form .send")
    window.says("the lighthouse is blue", f"{PANEL} .paged li")
    window.click(f"{PANEL} .paged .marks button")
    window.shown(f"{PANEL} .paged textarea")
    window.run("document.querySelector(arguments[0]).value = ''", f"{PANEL} .paged textarea")
    window.type(f"{PANEL} .paged textarea", "灯台は白い the lighthouse is white")
    window.click(f"{PANEL} .paged .send")
    window.says("the lighthouse is white", f"{PANEL} .paged .prose")
    [kept] = installation.server.call("GET", memories)["items"]
    assert (kept["content"], kept["hearing"]) == ("灯台は白い the lighthouse is white", "private")
    window.click("#tab-memory_search")
    window.type("#field-memory_query", "lighthouse 灯台")
    window.click("#panel-memory_search .send")
    window.says("the lighthouse is white", ".found")
    window.shown(".found .badge")
    window.click("#tab-memory_curated")
    window.click(f"{PANEL} .paged .marks button:nth-of-type(2)")
    window.click(".forgetting .stop")
    window.until(lambda: not window.count(f"{PANEL} .paged li"), "it is forgotten")
    assert installation.server.call("GET", memories)["items"] == []
    assert nothing_was_forbidden(window)


def test_the_graph_is_a_picture_and_a_list_and_the_whole_can_be_saved(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Knower")
    labels = ("港 harbour", "船 ship", HOSTILE[0][:30])
    know(installation, agent, labels)
    installation.sign_in(window, at=f"/agents/{agent}/memory")
    window.click("#tab-memory_graph")
    window.shown("svg.graph circle")
    assert (window.count("svg.graph circle"), window.count("svg.graph line")) == (3, 2)
    window.run("document.querySelector('svg.graph g').dispatchEvent(new MouseEvent('click'))")
    window.says("港 harbour 港 harbour", "#panel-memory_graph .card")
    for label in labels:
        window.says(label, "#panel-memory_graph table")
    window.run(SAVED)
    window.click(".heading .action button")
    window.until(lambda: saved_names(window), "the export is saved")
    assert saved_names(window) == ["Knower-memory.zip"]
    assert nothing_was_forbidden(window)


def test_hostile_memories_stay_text(installation: Installation, window: Browser) -> None:
    agent = installation.agent(f"{NAME} keeps")
    for text in HOSTILE:
        body = {"content": f"{text} 事実", "category": "fact"}
        installation.server.call("POST", f"/agents/{agent}/memory/curated", body)
    installation.sign_in(window, at=f"/agents/{agent}/memory")
    window.click("#tab-memory_curated")
    window.says("⟨U+202E⟩esrever", f"{PANEL} .paged")
    window.says(HOSTILE[1], f"{PANEL} .paged")
    assert f"{NAME} keeps" in window.text("#view-memory h1")
    nothing_ran(window)


def test_an_unknown_agent_is_told_in_the_language_of_the_page(
    installation: Installation, english: Browser, japanese: Browser
) -> None:
    installation.agent("Keeper")
    unknown = "00000000000000000000000000"
    told = (
        (english, "no such agent", "there is no"),
        (japanese, "いません", f"セッション '{unknown}' はありません"),
    )
    for window, words, error in told:
        installation.sign_in(window, at=f"/agents/{unknown}/memory")
        window.says(words, "#view-memory")
        window.open(f"{installation.url.removesuffix('/')}/sessions/{unknown}")
        window.says(error, "main")
