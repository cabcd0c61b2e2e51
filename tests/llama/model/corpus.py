"""What the model is made of: sentences of our own pages, and tool calls of our own actions."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

PAGES = (
    "README.md",
    "README.ja.md",
    "docs/tutorial/*.md",
    "docs/glossary*.md",
    "docs/reference/actions*.md",
    "skills/*/*.md",
    "layers/opencrab/python/opencrab/engine/*.json",
    "layers/opencrab/python/opencrab/engine/turn/prompt/*.json",
    "layers/opencrab/python/opencrab/engine/learning/*.json",
)
"""The pages, in English and Japanese, as patterns below the checkout."""

ACTIONS = "docs/reference/actions.md"
CALLS_OF_EACH_ACTION = 24
_SENTENCE = re.compile(
    r"(?<=[\n。 \"|])[A-Z\u3041-\u9fff][^\n.。!?！？|`*#<>\"\[\]]{6,90}[.。!?！？](?=\s|\")"
)
_CLAUSE = re.compile(r"[\u3041-\u9fff]{2,12}|[a-z]{2,12}")
_ACTION = re.compile(r"^\| `(\w+)` \| ([^|]*(?:\\\|[^|]*)*) \|", re.MULTILINE)
_ARGUMENT = re.compile(r"`(\w+): ([^`=]+?)(?: = [^`]*)?`")
_FILES = ("plan.md", "notes.md", "tomorrow.md", "memo.txt", "日記.md")


def pages(root: Path) -> tuple[Path, ...]:
    """The pages of a checkout, in an order that is always the same."""
    return tuple(path for pattern in PAGES for path in sorted(root.glob(pattern)))


def sentences(texts: Sequence[str]) -> list[str]:
    """The sentences of pages that a model could answer with."""
    found = (match.strip() for text in texts for match in _SENTENCE.findall(text))
    return list(dict.fromkeys(found))


def words(said: Sequence[str]) -> list[str]:
    """What stands in arguments: words of sentences, and clauses where no space parts words."""
    return [word for sentence in said for word in _CLAUSE.findall(sentence)]


def calls(root: Path, known: Sequence[str], seed: int) -> Iterator[str]:
    """Tool calls as they are written between their tags, with arguments of the right types."""
    chance = random.Random(seed)
    reference = (root / ACTIONS).read_text("utf-8")
    for name, cell in _ACTION.findall(reference):
        arguments = _ARGUMENT.findall(cell.replace("\\|", "|"))
        for _ in range(CALLS_OF_EACH_ACTION):
            given = {key: _value(key, kind, known, chance) for key, kind in arguments}
            # Spaces tell what stands around arguments from what stands in them.
            compact = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
            yield f'{{"name": "{name}", "arguments": {compact}}}'


def _value(key: str, kind: str, known: Sequence[str], chance: random.Random) -> object:
    """A value of an argument, as short as an answer of a model that has little to say."""
    if "path" in key or "file" in key:
        return chance.choice(_FILES)
    if kind.startswith("integer") or kind.startswith("number"):
        return chance.choice((0, 1, 2, 3, 0.5) if kind.startswith("number") else (1, 2, 3))
    if kind.startswith("boolean"):
        return chance.random() < 0.5
    if kind.startswith("array"):
        return [_phrase(known, chance) for _ in range(chance.randint(0, 2))]
    if kind.startswith("object"):
        return {}
    if "|" in kind:
        return chance.choice(kind.split("|")).strip()
    return _phrase(known, chance)


def _phrase(known: Sequence[str], chance: random.Random) -> str:
    return " ".join(chance.choices(known, k=chance.randint(1, 4)))
