"""Texts that lie beside a module: read by key and language, whole or one section of them."""

import json
from pathlib import Path

import pytest

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

HELLO = {"hello": {"en": "hello {name}", "ja": "こんにちは {name}"}}


def _module(folder: Path, texts: object) -> str:
    (folder / "greeting.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    return str(folder / "greeting.py")


def test_a_text_is_found_by_its_key_and_language(tmp_path: Path) -> None:
    texts = Texts(_module(tmp_path, HELLO))
    assert texts["hello"][Language.JA].format(name="海") == "こんにちは 海"
    assert (list(texts), len(texts), "bye" in texts) == (["hello"], 1, False)


def test_a_section_has_only_its_own_texts(tmp_path: Path) -> None:
    texts = Texts(_module(tmp_path, {"greetings": HELLO, "others": {}}), "greetings")
    assert dict(texts) == HELLO


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    texts = Texts(str(tmp_path / "nowhere.py"))
    with pytest.raises(FileNotFoundError):
        texts["hello"]
