"""The glossary: its data, and the page that it makes in each language.

`python -m tests.docs.glossary` writes docs/glossary.md and docs/glossary.ja.md.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from tests.conftest import ROOT

DATA = ROOT / "docs" / "glossary.toml"


@dataclass(frozen=True)
class Term:
    """One word of ours: `also` is what others call it, `code` where the package has it."""

    area: str
    en: str
    ja: str
    also: tuple[str, ...]
    code: tuple[str, ...]
    means: str
    means_ja: str


@dataclass(frozen=True)
class PageText:
    """What a page says in its language around the terms."""

    file: str
    title: str
    about: str
    head: str
    retired: str
    areas: dict[str, str]


ENGLISH = PageText(
    file="glossary.md",
    title="Glossary",
    about="What our words mean, what others call the same thing, and where the code has it.\n"
    "Made from `docs/glossary.toml`; a test holds the names of modules and classes against it.",
    head="| term | meaning | also called | Japanese | in code |",
    retired="Words that names in the code no longer use, with the field's term in their place. "
    "Stored fields and REST schemas keep theirs:",
    areas={},
)
JAPANESE = PageText(
    file="glossary.ja.md",
    title="用語集",
    about="OpenCrab の用語の意味、ほかの製品での呼び方、コード上の名前です。\n"
    "`docs/glossary.toml` から生成し、モジュール名とクラス名をテストで照合しています。",
    head="| 用語 | 意味 | ほかの製品での呼び方(英語) | 英語 | コード |",
    retired="",
    areas={
        "agents": "エージェント",
        "turn": "ターン",
        "conversation": "会話",
        "access": "権限",
        "approvals": "承認",
        "memory": "記憶",
        "erasure": "忘却",
        "goals": "目標",
        "autonomy": "自律動作",
        "models": "モデル",
        "money": "費用と予算",
        "learning": "学習",
        "skills": "スキル",
        "workspace": "ワークスペース",
        "vault": "ボールト",
        "websocket": "WebSocket",
        "insight": "分析",
        "discord": "Discord",
        "world": "ワールド",
        "mcp": "MCP",
        "simulation": "シミュレーション",
        "architecture": "アーキテクチャ",
    },
)


@cache
def terms() -> tuple[Term, ...]:
    """All terms, in the order of the file."""
    return tuple(
        Term(
            **{**each, "also": tuple(each["also"]), "code": tuple(each["code"])},
        )
        for each in tomllib.loads(DATA.read_text(encoding="utf-8"))["term"]
    )


@cache
def retired_words() -> dict[str, str]:
    """Words that no name may have any more, and what to say instead."""
    read: dict[str, str] = tomllib.loads(DATA.read_text(encoding="utf-8"))["retired"]
    return read


def pages() -> dict[str, str]:
    """The text of each page by its file name below docs/."""
    return {text.file: page(text) for text in (ENGLISH, JAPANESE)}


def page(text: PageText) -> str:
    """The page in the language of this text."""
    lines = [f"# {text.title}", "", text.about]
    for area, listed in groupby(terms(), key=lambda each: each.area):
        lines += ["", f"## {text.areas.get(area, area)}", "", text.head, "|---|---|---|---|---|"]
        lines += [_row(each, japanese=text is JAPANESE) for each in listed]
    if text.retired:
        lines += ["", "## retired", "", text.retired, ""]
        lines += [f"- {old} → {new}" for old, new in retired_words().items()]
    return "\n".join(lines) + "\n"


def _row(term: Term, *, japanese: bool) -> str:
    first, meaning, other = (
        (term.ja, term.means_ja, term.en) if japanese else (term.en, term.means, term.ja)
    )
    code = ", ".join(f"`{each}`" for each in term.code)
    return f"| {first} | {meaning} | {', '.join(term.also)} | {other} | {code} |"


if __name__ == "__main__":
    for name, content in pages().items():
        (ROOT / "docs" / name).write_text(content, encoding="utf-8")
