"""The page's files: what a browser gets without a key, and what nothing in them can do."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import opencrab
from opencrab.gateways.cli.language.sentences import CliLanguage, sentences_of_language
from opencrab.gateways.rest.app import PAGES
from opencrab.gateways.rest.page import page_files
from opencrab.gateways.rest.page.page_files import browser_page_response

STATIC = Path(page_files.__file__).parent / "static"
FIRST_PAGE_BYTES = 200_000
SCRIPTS = sorted(STATIC.rglob("*.js"))
PACKAGE = Path(opencrab.__file__).parent
CHECKS = sorted(
    path
    for place in (
        "engine/installation/*_checks.py",
        "engine/discord/diagnosis.py",
        "gateways/local/machine_checks.py",
        "bootstrap/local/doctor.py",
    )
    for path in PACKAGE.glob(place)
)
CHECKED = re.compile(r"(?:findings|doctor)\.(?:well|warning|problem|ill)\(\s*\"(\w+)\"")
"""A check that is made, with the word that its name begins with."""


def page_scope(path: str = "/", **headers: str) -> dict[str, Any]:
    """A GET of a browser."""
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"type": "http", "method": "GET", "path": path, "headers": named}


def test_the_server_knows_the_addresses_that_the_page_shows() -> None:
    router = (STATIC / "lib" / "router.js").read_text(encoding="utf-8")
    shown = set(re.findall(r'path: "/(\w*)', router))
    assert shown - {""} <= PAGES


def body_of(path: str = "/", **headers: str) -> str:
    """The text of an answer."""
    return bytes(browser_page_response(page_scope(path, **headers)).body).decode()


def addresses() -> list[str]:
    """The files that the page names."""
    return re.findall(r'(?:href|src)="([^"]+)"', body_of())


@pytest.mark.parametrize(
    ("accept_language", "language"), [("", "en"), ("ja,en;q=0.5", "ja"), ("fr", "en")]
)
def test_the_page_is_in_the_language_of_the_browser(accept_language: str, language: str) -> None:
    assert f'<html lang="{language}">' in body_of(accept_language=accept_language)


def test_the_page_names_files_that_are_served() -> None:
    assert len(addresses()) == 3
    for address in addresses():
        answer = browser_page_response(page_scope(address))
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/0000000000000000/main.js",
        "/page/{version}/nothing.js",
        "/page/{version}/../page_files.py",
        "/page/{version}/%2e%2e",
        "/page/{version}/page_files.py",
    ],
)
def test_no_other_file_is_served(path: str) -> None:
    version = addresses()[0].split("/")[2]
    assert browser_page_response(page_scope(path.replace("{version}", version))).status_code == 404


def test_nothing_foreign_may_run_or_be_asked() -> None:
    for path in ("/", *addresses()):
        headers = browser_page_response(page_scope(path)).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "trusted-types 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    for path in ("/", *addresses()):
        etag = browser_page_response(page_scope(path)).headers["etag"]
        for known in (etag, f"W/{etag}", f'"other", {etag}'):
            again = browser_page_response(page_scope(path, if_none_match=known))
            assert (again.status_code, again.body) == (304, b"")
            assert again.headers["etag"] == etag
        assert browser_page_response(page_scope(path, if_none_match='"other"')).status_code == 200


@pytest.mark.parametrize(
    ("accept_encoding", "is_gzip"),
    [
        ("gzip, deflate, br, zstd", True),
        ("br;q=1.0, GZIP;q=0.8", True),
        ("gzip;q=0", False),
        ("gzip; q=0.00", False),
        ("br", False),
        ("", False),
    ],
)
def test_a_file_is_compressed_for_whoever_takes_it(accept_encoding: str, *, is_gzip: bool) -> None:
    for path in ("/", *addresses()):
        plain = browser_page_response(page_scope(path))
        answer = browser_page_response(page_scope(path, accept_encoding=accept_encoding))
        assert answer.headers.get("content-encoding") == ("gzip" if is_gzip else None)
        assert "Accept-Encoding" in answer.headers["vary"]
        body = bytes(answer.body)
        assert (gzip.decompress(body) if is_gzip else body) == plain.body
        assert (answer.headers["etag"] == plain.headers["etag"]) is not is_gzip
        etag = answer.headers["etag"]
        known = {"accept_encoding": accept_encoding, "if_none_match": etag}
        assert browser_page_response(page_scope(path, **known)).status_code == 304


def loaded_by(script: str) -> set[str]:
    """The files that a script loads before it runs, itself and theirs included."""
    found, waiting = set[str](), [STATIC / script]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(STATIC).as_posix()
        if name in found:
            continue
        found.add(name)
        code = path.read_text(encoding="utf-8")
        waiting += [
            (path.parent / each).resolve()
            for each in re.findall(r'^(?:import|export)\b[^;]*?from "([^"]+)";', code, re.M | re.S)
        ]
    return found


def test_the_first_page_is_small() -> None:
    names = {"style.css", "icon.svg"} | loaded_by("main.js") | loaded_by("home/home.js")
    names |= {f"words/{area}.json" for area in ("common", "home", "chat", "approvals")}
    version = addresses()[0].split("/")[2]
    paths = ["/", *(f"/page/{version}/{name}" for name in sorted(names))]
    sizes = {
        path: len(browser_page_response(page_scope(path, accept_encoding="gzip")).body)
        for path in paths
    }
    assert sum(sizes.values()) <= FIRST_PAGE_BYTES, sizes


def words_of_areas() -> dict[str, dict[str, dict[str, str]]]:
    """The texts of each area, by key and language."""
    files = sorted((STATIC / "words").iterdir())
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}


def code_of(area: str) -> str:
    """The scripts that say the texts of an area; what is common is said by all."""
    scripts = [path for path in SCRIPTS if area in {path.parent.name, "common"}]
    return "".join(path.read_text(encoding="utf-8") for path in scripts)


@pytest.mark.parametrize("area", words_of_areas())
def test_every_text_of_an_area_is_there_in_both_languages_and_used(area: str) -> None:
    code = code_of(area)
    for key, texts in words_of_areas()[area].items():
        assert set(texts) == {"en", "ja"}, key
        fields = [set(re.findall(r"{\w+}", text)) for text in texts.values()]
        assert fields[0] == fields[1], key
        families = {key[:at] for at in range(1, len(key)) if key[at - 1] == "_"}
        assert f'"{key}"' in code or any(f"{each}${{" in code for each in families), key


def test_each_check_of_the_installation_has_its_name() -> None:
    """Their names are those that the terminal has words for too."""
    texts = words_of_areas()["settings"]
    terminal = sentences_of_language(CliLanguage.of("ja"))["terms"]
    named = {key.removeprefix("check_of_"): each["ja"] for key, each in texts.items()}
    checks = {name for path in CHECKS for name in CHECKED.findall(path.read_text("utf-8"))}
    assert len(checks) > 20
    assert checks - set(named) == set()
    assert {name: terminal[name] for name in checks & set(terminal)}.items() <= named.items()


def test_each_page_of_an_agent_has_its_name() -> None:
    code = (STATIC / "lib" / "router.js").read_text(encoding="utf-8")
    pages = re.findall(r'path: "/agents/:id/?(\w*)"', code)
    assert len(pages) > 4
    names = words_of_areas()["common"]
    assert [page for page in pages if f"agent_page_{page or 'live'}" not in names] == []


def test_every_text_that_a_script_says_is_there_once() -> None:
    areas = words_of_areas()
    keys = [key for words in areas.values() for key in words]
    assert len(keys) == len(set(keys))
    for area in areas:
        used = set(
            re.findall(r'\b(?:text|button|card|action|command|block)\("(\w+)"', code_of(area))
        )
        assert area == "common" or used <= {*areas["common"], *areas[area]}, area


def test_no_script_makes_html_or_code_from_text() -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|DOMParser"
    for script in SCRIPTS:
        name, code = script.relative_to(STATIC), script.read_text(encoding="utf-8")
        assert not re.search(forbidden, code), name
        # A namespace has the form of an address, but nobody goes there.
        assert not re.search(r"https?://", code.replace("http://www.w3.org/2000/svg", "")), name
        assert len(code.splitlines()) <= 400, name
