"""What the model is made of: sentences of our own pages, and tool calls of our own actions."""

import json
import random
import re
from collections import Counter
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
CALLS_OF_EACH_WORD = 120
"""Calls for each word that names of actions begin with, so that none of them is rare."""

_SENTENCE = re.compile(
    r"(?<=[\n。 \"|])[A-Z\u3041-\u9fff][^\n.。!?！？|`*#<>\"\[\]]{6,90}[.。!?！？](?=\s|\")"
)
_CLAUSE = re.compile(r"[\u3041-\u9fff]{2,12}|[a-z]{2,12}")
_ACTION = re.compile(r"^\| `(\w+)` \| ([^|]*(?:\\\|[^|]*)*) \|", re.MULTILINE)
_ARGUMENT = re.compile(r"`(\w+): ([^`=]+?)(?: = [^`]*)?`")
_IDS = {"goal_id": ("G1",), "task_id": ("G1-T1", "G1-T2", "G1-T3")}
_STEPS = 6
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
    chance = random.Random(seed)  # noqa: S311 - the same each time
    reference = (root / ACTIONS).read_text("utf-8")
    actions = _ACTION.findall(reference)
    alike = Counter(name.partition("_")[0] for name, _ in actions)
    for name, cell in actions:
        arguments = _ARGUMENT.findall(cell.replace("\\|", "|"))
        for _ in range(CALLS_OF_EACH_WORD // alike[name.partition("_")[0]]):
            given = {key: _value(key, kind, known, chance) for key, kind in arguments}
            # Spaces tell what stands around arguments from what stands in them.
            compact = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
            yield f'{{"name": "{name}", "arguments": {compact}}}'


def _value(key: str, kind: str, known: Sequence[str], chance: random.Random) -> object:
    """A value of an argument, as short as an answer of a model that has little to say."""
    if "|" in kind:
        return chance.choice(kind.split("|")).strip()
    if kind == "string" and key in {"path", "file"}:
        return chance.choice(_FILES)
    if key in _IDS:
        return chance.choice(_IDS[key])
    if kind == "array of object":
        fields = ("name", "precondition", "postcondition")
        return [{each: _phrase(known, chance) for each in fields} for _ in range(_STEPS)]
    if kind.startswith("array"):
        return [_phrase(known, chance) for _ in range(chance.randint(0, 2))]
    values: dict[str, tuple[object, ...]] = {
        "integer": (1, 2, 3),
        "number": (0.2, 0.5, 1),
        "boolean": (True, False),
        "object": ({},),
    }
    return chance.choice(values[kind]) if kind in values else _phrase(known, chance)


def _phrase(known: Sequence[str], chance: random.Random) -> str:
    return " ".join(chance.choices(known, k=chance.randint(1, 4)))
