"""Make the model that tests speak to: `python -m tests.llama.model.build MODEL.gguf`.

It needs numpy and the pages of a checkout, and nothing of OpenCrab.
"""

import argparse
import importlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.llama.model import corpus
from tests.llama.model.gguf import Fact, write_gguf
from tests.llama.model.tokenizer import Tokenizer
from tests.llama.model.weights import HEAD, INNER, WIDTH, Statistics, weights

ROOT = Path(__file__).resolve().parents[3]
CONTEXT_TOKENS = 32_768
VOCABULARY = 4_096
SEED = 26
TEMPLATE = Path(__file__).with_name("template.jinja")
END, ANSWER, OPENS, CLOSES = "<|end|>", "<|assistant|>", "<tool_call>", "</tool_call>"
OFFERS, USER, RETURNED = "<|tools|>", "<|user|>", "<|returned|>"
SPECIAL = (END, "<|system|>", OFFERS, USER, ANSWER, "<|tool|>", RETURNED, OPENS, CLOSES)
BEGINNINGS = 16
"""Tokens that answers begin with."""

CALLING = 0.4
"""Share of calls in the beginnings of answers, where there are no results of calls."""

QUOTE, QUOTING = '"', 0.15
"""Quotes for each end of a sentence, by which strings end where an answer must be JSON."""

THINKING = 0.1
"""Calls for each end of a sentence: of an answer that says first what it does."""

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4


def main() -> None:
    """Write the model whose name is given."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("model", type=Path)
    model: Path = options.parse_args().model
    facts, tensors = make_model()
    unfinished = model.with_suffix(".tmp")
    write_gguf(unfinished, facts, tensors)
    unfinished.replace(model)
    sys.stdout.write(f"{model}: {model.stat().st_size:,} bytes\n")


def make_model() -> tuple[dict[str, Fact], dict[str, Any]]:
    """The facts and tensors of the model."""
    texts = [path.read_text("utf-8") for path in corpus.pages(ROOT)]
    answers = corpus.sentences(texts)
    calls = list(corpus.calls(ROOT, corpus.words(answers), SEED))
    tokenizer = Tokenizer([*texts, *answers, *calls], VOCABULARY - len(SPECIAL))
    tokens = [*tokenizer.tokens, *SPECIAL]
    ids = {name: tokens.index(name) for name in (*SPECIAL, QUOTE)}
    spoken = [[*tokenizer.encode(answer), ids[END]] for answer in answers]
    called = [tokenizer.encode(call) for call in calls]
    found = Statistics(
        answers=_followers(len(tokens), _answers(spoken, len(called), ids)),
        calls=_followers(len(tokens), ([ids[OPENS], *call, ids[CLOSES]] for call in called)),
        special=tuple(ids[name] for name in SPECIAL),
        quote=ids[QUOTE],
        opens=ids[OPENS],
        closes=ids[CLOSES],
        offers=ids[OFFERS],
        asks=ids[USER],
        returned=ids[RETURNED],
    )
    return _facts(tokens, tokenizer.merges, ids), weights(found)


def _answers(spoken: Sequence[list[int]], calls: int, ids: dict[str, int]) -> Iterator[list[int]]:
    """What answers are made of: a sentence, or a call; after a call it ends."""
    yield from spoken
    first = Counter(answer[0] for answer in spoken).most_common(BEGINNINGS)
    for token, _ in first:
        yield from ([ids[ANSWER], token] for _ in range(100))
    calling = round(100 * len(first) * CALLING / (1 - CALLING))
    yield from ([ids[ANSWER], ids[OPENS]] for _ in range(calling))
    yield from ([ids[CLOSES], ids[END]] for _ in range(calls))
    ends = Counter(answer[-2] for answer in spoken)
    for token, times in ends.items():
        yield from ([token, ids[OPENS]] for _ in range(round(times * THINKING)))
        yield from ([token, ids[QUOTE]] for _ in range(max(round(times * QUOTING), 1)))


def _followers(size: int, rows: Iterable[list[int]]) -> Any:
    """How often each token follows each other one."""
    np: Any = importlib.import_module("numpy")
    counts = np.zeros((size, size), np.float32)
    for row in rows:
        for pair in pairwise(row):
            counts[pair] += 1
    return counts


def _facts(tokens: list[str], merges: list[str], ids: dict[str, int]) -> dict[str, Fact]:
    plain = len(tokens) - len(SPECIAL)
    kinds = [_USER_DEFINED if name in {OPENS, CLOSES} else _CONTROL for name in SPECIAL]
    return {
        "general.architecture": "llama",
        "general.name": "opencrab-made-by-hand",
        "llama.context_length": CONTEXT_TOKENS,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 2,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": 2,
        "llama.attention.key_length": HEAD,
        "llama.attention.value_length": HEAD,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": HEAD,
        "llama.rope.freq_base": 1.0,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [_NORMAL] * plain + kinds,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.eos_token_id": ids[END],
        "tokenizer.ggml.eot_token_id": ids[END],
        "tokenizer.ggml.bos_token_id": ids[END],
        "tokenizer.ggml.padding_token_id": ids[END],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE.read_text("utf-8").replace("\n", ""),
    }


if __name__ == "__main__":
    main()
