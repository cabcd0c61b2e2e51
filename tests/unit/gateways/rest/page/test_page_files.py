"""The page's files: what a browser gets without a key, and what nothing in them can do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencrab.gateways.rest.page import page_files
from opencrab.gateways.rest.page.page_files import page_response

STATIC = Path(page_files.__file__).parent / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))


def page_scope(path: str = "/", **headers: str) -> dict[str, Any]:
    """A GET of a browser."""
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"type": "http", "method": "GET", "path": path, "headers": named}


def body_of(path: str = "/", **headers: str) -> str:
    """The text of an answer."""
    return bytes(page_response(page_scope(path, **headers)).body).decode()


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
        answer = page_response(page_scope(address))
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
    assert page_response(page_scope(path.replace("{version}", version))).status_code == 404


def test_nothing_foreign_may_run_or_be_asked() -> None:
    for path in ("/", *addresses()):
        headers = page_response(page_scope(path)).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "trusted-types 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    for path in ("/", *addresses()):
        etag = page_response(page_scope(path)).headers["etag"]
        for known in (etag, f"W/{etag}", f'"other", {etag}'):
            again = page_response(page_scope(path, if_none_match=known))
            assert (again.status_code, again.body) == (304, b"")
            assert again.headers["etag"] == etag
        assert page_response(page_scope(path, if_none_match='"other"')).status_code == 200


def test_every_text_of_the_page_is_there_in_both_languages() -> None:
    words = json.loads((STATIC / "words.json").read_text(encoding="utf-8"))
    for key, texts in words.items():
        assert set(texts) == {"en", "ja"}, key
        fields = [set(re.findall(r"{\w+}", text)) for text in texts.values()]
        assert fields[0] == fields[1], key
    code = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    used = set(re.findall(r'\b(?:text|button|part|whole|command|block)\("(\w+)"', code))
    assert used
    assert used <= set(words)
    for key in words:
        family = key.split("_")[0]
        assert f'"{key}"' in code or f"{family}_${{" in code, f"{key} is not used"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_no_script_makes_html_or_code_from_text(script: Path) -> None:
    code = script.read_text(encoding="utf-8")
    forbidden = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|DOMParser"
    assert not re.search(forbidden, code)
    assert not re.search(r"https?://", code)
    assert len(code.splitlines()) <= 400
