"""Weights of a small transformer, computed rather than trained.

It continues a text by what mostly follows its last token in the texts that it is made of. Four
attention heads look further back. One finds the token before each token; one finds where the last
token stood before, and what followed there (an induction head: Olsson et al., 2022). One counts
whether a tool call was opened and not closed; within a call, tokens follow each other as in calls.
One counts results of calls: the more there are, the likelier is an answer without a call.
"""

import importlib
from dataclasses import dataclass
from typing import Any

Array = Any
"""An array of numpy, which is not in the environment of the tests."""

HEAD = 64
"""Width of a head: 16 pairs that turn with the position, and 16 that do not."""

CODE = 32
RANK = 186
EXACT = 10
INNER = RANK + EXACT
WIDTH = 512
STILL = 1e30
SEED = 26

# Where things lie in the stream that all layers read and write.
ONE, TAG, SIGN, OPEN, IN_CALL, OFFER, OFFERED, HAS_TOOLS, SAID, RESULT, DONE = range(11)
OWN, PREVIOUS, COPIED = (slice(at, at + CODE) for at in (16, 48, 80))
NEXT = slice(112, 112 + INNER)
CHANGE = slice(112 + INNER, 112 + 2 * INNER)

COPYING = 3.0
"""How much likelier, in nats, a token is that followed here before."""

CONTENTED = 3.0
"""How much less likely, in nats, a call is the more of all that was said are results of calls."""

UNARMED = 14.0
"""How much less likely, in nats, a call is where no tools are offered."""

_RARE = 1e-6
_SHARP_PLACE, _SHARP_CODE, _SHARP_TAG = 60.0, 30.0, 30.0
_CALLS = 50
"""Calls of a conversation, up to which an open one is noticed."""


@dataclass(frozen=True)
class Statistics:
    """How often each token follows another, in answers and in calls; and tokens with a meaning."""

    answers: Array
    calls: Array
    special: tuple[int, ...]
    quote: int
    opens: int
    closes: int
    offers: int
    asks: int
    returned: int


def weights(found: Statistics) -> dict[str, Array]:
    """The tensors of a model of llama.cpp's architecture `llama` with two layers."""
    np: Any = importlib.import_module("numpy")
    size = len(found.answers)
    both = [_advantages(np, counts, found.special) for counts in (found.answers, found.calls)]
    often = np.concatenate([counts.sum(1) for counts in (found.answers, found.calls)])
    left, right = _factors(
        np, np.vstack([each for each, _ in both]), often, (*found.special, found.quote)
    )
    embedding = np.zeros((size, WIDTH), np.float32)
    embedding[:, ONE] = np.sqrt(WIDTH)
    embedding[:, OWN] = _codes(np, size, found.special)
    embedding[:, NEXT] = left[:size]
    embedding[:, CHANGE] = left[size:] - left[:size]
    embedding[found.opens, [TAG, SIGN]] = 1.0, 1.0
    embedding[found.closes, [TAG, SIGN]] = 1.0, -1.0
    embedding[found.offers, [TAG, OFFER]] = 1.0
    embedding[[found.asks, found.returned], SAID] = 1.0
    embedding[found.returned, RESULT] = 1.0
    output = np.zeros((size, WIDTH), np.float32)
    prior, prior_of_calls = (prior for _, prior in both)
    output[:, ONE] = prior / np.sqrt(WIDTH)
    output[:, IN_CALL] = prior_of_calls - prior
    output[:, NEXT] = right
    output[found.opens, DONE] = -CONTENTED
    output[found.opens, ONE] -= UNARMED / np.sqrt(WIDTH)
    output[found.opens, HAS_TOOLS] = UNARMED
    output[:, COPIED] = COPYING * embedding[:, OWN]
    turning = 1.0 + 1.7 * np.modf(np.arange(1, 17) * (np.sqrt(5) - 1) / 2)[0]
    factors = np.concatenate([1 / turning, np.full(16, STILL)])
    return {
        "token_embd.weight": embedding,
        "rope_freqs.weight": factors,
        **_layer(np, 0, _look_back(np, turning), _remember_tags(np)),
        **_layer(np, 1, _copy(np), _continue_call(np)),
        "output_norm.weight": np.ones(WIDTH),
        "output.weight": output,
    }


def _advantages(np: Any, counts: Array, special: tuple[int, ...]) -> tuple[Array, Array]:
    """How much likelier each token is after another than it is anyway, in nats, and the latter."""
    prior = np.log((counts.sum(0) + 0.02) / (counts.sum() + 0.02 * len(counts)))
    prior[list(special)] = np.log(_RARE)
    rows = counts.sum(1, keepdims=True)
    seen = counts / np.maximum(rows, 1)
    mixed = (rows > 0) * 0.98 * seen + np.where(rows > 0, 0.02, 1.0) * np.exp(prior)
    advantage = np.log(mixed) - prior
    return advantage - np.where(rows > 0, np.log(0.02), 0.0), prior


def _factors(np: Any, matrix: Array, often: Array, exact: tuple[int, ...]) -> tuple[Array, Array]:
    """Two thin matrices whose product is near the matrix (Halko et al., 2011).

    It is nearest in rows that occur often, and the same in the columns that must be exact.
    """
    rest, weight = matrix.copy(), np.sqrt(np.clip(often, 1, 400))[:, None]
    rest[:, list(exact)] = 0
    rest *= weight
    chance = np.random.default_rng(SEED)
    basis = rest @ chance.standard_normal((rest.shape[1], RANK + 16)).astype(np.float32)
    for _ in range(2):
        basis = np.linalg.qr(rest @ (rest.T @ np.linalg.qr(basis)[0]))[0]
    inner, values, right = np.linalg.svd(basis.T @ rest, full_matrices=False)
    left = np.hstack([(basis @ inner)[:, :RANK] * values[:RANK] / weight, matrix[:, list(exact)]])
    right = np.hstack([right[:RANK].T, np.eye(rest.shape[1])[:, list(exact)]])
    scale = np.linalg.norm(left, axis=1).max()
    return left / scale, right * scale


def _codes(np: Any, size: int, special: tuple[int, ...]) -> Array:
    """A direction for each token by which a head can find it; none for those with a meaning."""
    codes = np.random.default_rng(SEED).standard_normal((size, CODE))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    codes[list(special)] = 0
    return codes


def _layer(np: Any, number: int, heads: dict[str, Array], inner: dict[str, Array]) -> Any:
    """A layer's tensors; what the stream reads is as wide as the stream, as GGUF has it."""
    layer = {
        "attn_norm": np.ones(WIDTH),
        "ffn_norm": np.ones(WIDTH),
        **{f"attn_{name}": np.zeros((2 * HEAD, WIDTH)) for name in "qkv"},
        "attn_output": np.zeros((WIDTH, 2 * HEAD)),
        **{f"ffn_{name}": np.zeros((INNER, WIDTH)) for name in ("gate", "up")},
        "ffn_down": np.zeros((WIDTH, INNER)),
        **heads,
        **inner,
    }
    return {f"blk.{number}.{name}.weight": tensor for name, tensor in layer.items()}


def _look_back(np: Any, turning: Array) -> dict[str, Array]:
    """Head 0: what is the token before this one.

    Head 1: were more calls opened than closed, and were tools offered.
    """
    query, key, value = (np.zeros((2 * HEAD, WIDTH)) for _ in range(3))
    output = np.zeros((WIDTH, 2 * HEAD))
    one = 1 / np.sqrt(WIDTH)
    strength = one * np.sqrt(_SHARP_PLACE * np.sqrt(HEAD) / len(turning))
    pairs = 2 * np.arange(len(turning))
    query[pairs, ONE] = strength
    key[pairs, ONE] = strength * np.cos(turning)
    key[pairs + 1, ONE] = strength * np.sin(turning)
    value[:CODE, OWN] = output[PREVIOUS, :CODE] = np.eye(CODE)
    query[2 * HEAD - 1, ONE] = _SHARP_TAG * np.sqrt(HEAD) * one
    key[2 * HEAD - 1, TAG] = 1.0
    value[HEAD, SIGN] = output[OPEN, HEAD] = 1.0
    value[HEAD + 1, OFFER] = output[OFFERED, HEAD + 1] = 1.0
    return {"attn_q": query, "attn_k": key, "attn_v": value, "attn_output": output}


def _remember_tags(np: Any) -> dict[str, Array]:
    """Make 1 of any share of calls that is still open, or of tools offered, and 0 of none."""
    gate, up = (np.zeros((INNER, WIDTH)) for _ in range(2))
    down = np.zeros((WIDTH, INNER))
    one, steep = 1 / np.sqrt(WIDTH), 40.0
    for number, (share, sure) in enumerate(((OPEN, IN_CALL), (OFFERED, HAS_TOOLS))):
        pair = slice(2 * number, 2 * number + 2)
        gate[pair, share] = 2 * steep * (2 * _CALLS + 2)
        gate[pair, ONE] = -one * steep * np.array([0.5, 1.5])
        up[pair, ONE] = one
        down[sure, pair] = np.array([1, -1]) / steep
    return {"ffn_gate": gate, "ffn_up": up, "ffn_down": down}


def _copy(np: Any) -> dict[str, Array]:
    """Head 0: where did the token stand before that stands here now, and what followed it.

    Head 1: the share of results of calls in what users and calls have said.
    """
    query, key, value = (np.zeros((2 * HEAD, WIDTH)) for _ in range(3))
    output = np.zeros((WIDTH, 2 * HEAD))
    still = slice(HEAD - CODE, HEAD)
    query[still, OWN] = _SHARP_CODE * np.sqrt(HEAD) * np.eye(CODE)
    key[still, PREVIOUS] = value[:CODE, OWN] = output[COPIED, :CODE] = np.eye(CODE)
    query[2 * HEAD - 1, ONE] = _SHARP_TAG * np.sqrt(HEAD) / np.sqrt(WIDTH)
    key[2 * HEAD - 1, SAID] = 1.0
    value[HEAD, RESULT] = output[DONE, HEAD] = 1.0
    return {"attn_q": query, "attn_k": key, "attn_v": value, "attn_output": output}


def _continue_call(np: Any) -> dict[str, Array]:
    """Within a call, go on as calls do."""
    gate, up = (np.zeros((INNER, WIDTH)) for _ in range(2))
    down = np.zeros((WIDTH, INNER))
    steep = 20.0
    gate[:, IN_CALL] = steep
    up[:, CHANGE] = np.eye(INNER)
    down[NEXT, :] = np.eye(INNER) / steep
    return {"ffn_gate": gate, "ffn_up": up, "ffn_down": down}
