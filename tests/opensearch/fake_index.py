"""One index of the fake collection: documents, the queries that we ask, and BM25 as Lucene has it.

It keeps to Lucene where that decides an order: the inverse document frequency, the length of a
document in one byte, and each shard's own counts.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tests.opensearch.porter import stem

Source = dict[str, Any]
Scores = dict[str, float]

_WINDOW = 10_000
_BUCKETS = 65_535
_FREE = 24
_K1, _B = 1.2, 0.75
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "keyword": lambda value: isinstance(value, str),
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int and -(2**31) <= value < 2**31,
    "long": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "float": lambda value: type(value) in {int, float},
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict | list),
}


class BadRequest(Exception):
    """The server's words for a request that it refuses, with its name for the fault."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass
class _Shard:
    """What scoring needs to know of one shard."""

    postings: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    lengths: dict[str, int] = field(default_factory=dict)
    total: int = 0

    def add(self, document_id: str, words: list[str]) -> None:
        """Take a document in."""
        self.lengths[document_id] = len(words)
        self.total += len(words)
        for word, often in Counter(words).items():
            self.postings[word][document_id] = often

    def remove(self, document_id: str, words: list[str]) -> None:
        """Take a document out; Lucene counts it until its segment is merged, which is soon."""
        del self.lengths[document_id]
        self.total -= len(words)
        for word in set(words):
            del self.postings[word][document_id]

    def scores(self, word: str) -> Scores:
        """Every document with a word, and what the word is worth in it."""
        found = self.postings.get(word, {})
        count = len(self.lengths)
        rarity = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
        usual = self.total / count if count else 1.0
        return {
            key: rarity * often / (often + _K1 * (1 - _B + _B * stored(self.lengths[key]) / usual))
            for key, often in found.items()
        }


class FakeIndex:
    """Documents that can be searched, as they were at the last refresh."""

    def __init__(self, name: str, body: Mapping[str, Any] | None, shards: int) -> None:
        """Without a body it was made by writing into it, with whatever fields came."""
        self.name = name
        self.mappings: Mapping[str, Any] = {} if body is None else body["mappings"]
        self.sources: dict[str, Source] = {}
        self._values: dict[str, dict[Any, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._shards = [_Shard() for _ in range(shards)]

    def check(self, source: Source) -> None:
        """Refuse a document that the mapping does not allow."""
        if not self.mappings:
            return
        for name, value in source.items():
            known = self.mappings["properties"].get(name)
            if known is None:
                raise BadRequest(
                    "strict_dynamic_mapping_exception",
                    f"mapping set to strict, dynamic introduction of [{name}] within [_doc] is not"
                    " allowed",
                )
            if not _TYPES[known["type"]](value):
                raise BadRequest(
                    "mapper_parsing_exception",
                    f"failed to parse field [{name}] of type [{known['type']}]",
                )

    def put(self, document_id: str, source: Source) -> None:
        """Show a document from now on."""
        self.remove(document_id)
        self.sources[document_id] = source
        for name, value in source.items():
            if self._kind(name) in {"keyword", "boolean"}:
                self._values[name][value].add(document_id)
        if self._kind("terms") == "text" and "terms" in source:
            self._shard(document_id).add(document_id, analysed(source["terms"]))

    def remove(self, document_id: str) -> None:
        """Show a document no more."""
        source = self.sources.pop(document_id, None)
        if source is None:
            return
        for name, value in source.items():
            if self._kind(name) in {"keyword", "boolean"}:
                self._values[name][value].discard(document_id)
        if self._kind("terms") == "text" and "terms" in source:
            self._shard(document_id).remove(document_id, analysed(source["terms"]))

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a search."""
        _only(body, {"size", "query", "sort", "aggs", "track_total_hits"}, "search source")
        size = body.get("size", 10)
        if size > _WINDOW:
            raise BadRequest(
                "illegal_argument_exception",
                f"Result window is too large, from + size must be less than or equal to:"
                f" [{_WINDOW}] but was [{size}].",
            )
        scores = self._scores(body.get("query", {"match_all": {}}))
        sort = body.get("sort", [{"_score": {"order": "desc"}}])
        order = self._ordered(scores, sort)[:size]
        hits: dict[str, Any] = {"hits": [self._hit(key, scores[key]) for key in order]}
        if "sort" in body:
            # Whoever sorts is sure to be told the score in its place of the order only.
            told = [self._sorted_by(next(iter(each)), scores) for each in sort]
            for key, hit in zip(order, hits["hits"], strict=True):
                hit |= {"_score": None, "sort": [values[key] for values in told]}
        if body.get("track_total_hits", True):
            hits["total"] = {"value": len(scores), "relation": "eq"}
        answer: dict[str, Any] = {"timed_out": False, "_shards": {"failed": 0}, "hits": hits}
        if "aggs" in body:
            answer["aggregations"] = self._aggregations(body["aggs"], set(scores))
        return answer

    def _kind(self, name: str) -> str:
        if not self.mappings:
            return "dynamic"
        known = self.mappings["properties"].get(name, {})
        return str(known.get("type", "")) if known.get("index", True) else "kept only"

    def _shard(self, document_id: str) -> _Shard:
        return self._shards[crc32(document_id.encode()) % len(self._shards)]

    def _hit(self, document_id: str, score: float) -> dict[str, Any]:
        source = json.loads(json.dumps(self.sources[document_id]))
        return {"_index": self.name, "_id": document_id, "_score": score, "_source": source}

    def _scores(self, query: Mapping[str, Any]) -> Scores:
        """The documents that a query finds, with their scores."""
        kind, inner = _one(query, "query")
        found: Callable[[Any], Scores] | None = {
            "match_all": lambda _: dict.fromkeys(self.sources, 1.0),
            "match": self._match,
            "term": self._term,
            "terms": self._terms,
            "range": self._range,
            "bool": self._bool,
        }.get(kind)
        if found is None:
            raise BadRequest("parsing_exception", f"unknown query [{kind}]")
        return found(inner)

    def _match(self, inner: Mapping[str, Any]) -> Scores:
        name, asked = _one(inner, "match")
        asked = {"query": asked} if isinstance(asked, str) else asked
        _only(asked, {"query", "operator"}, "match")
        if self._kind(name) != "text" or asked.get("operator", "or") != "or":
            raise BadRequest("query_shard_exception", f"[match] on field [{name}] is not expected")
        scores = defaultdict[str, float](float)
        for word in analysed(asked["query"]):
            for shard in self._shards:
                for key, points in shard.scores(word).items():
                    scores[key] += points
        return dict(scores)

    def _term(self, inner: Mapping[str, Any]) -> Scores:
        name, value = _one(inner, "term")
        return dict.fromkeys(self._having(name, [value]), 1.0)

    def _terms(self, inner: Mapping[str, Any]) -> Scores:
        name, values = _one(inner, "terms")
        if len(values) > _BUCKETS:
            raise BadRequest("illegal_argument_exception", "The number of terms is too large")
        return dict.fromkeys(self._having(name, values), 1.0)

    def _having(self, name: str, values: Iterable[Any]) -> set[str]:
        kind = self._kind(name)
        if kind in {"keyword", "boolean"}:
            return set().union(*(self._values[name].get(value, ()) for value in values))
        if kind not in {"integer", "long"}:
            raise BadRequest("query_shard_exception", f"[term] on field [{name}] is not expected")
        wanted = set(values)
        return {key for key, source in self.sources.items() if source.get(name) in wanted}

    def _range(self, inner: Mapping[str, Any]) -> Scores:
        name, limits = _one(inner, "range")
        _only(limits, {"gte", "lte"}, "range")
        kind = self._kind(name)
        if kind not in {"integer", "long"} or not all(map(_TYPES[kind], limits.values())):
            raise BadRequest("query_shard_exception", f"failed to create query: [{name}] {limits}")
        least, most = limits.get("gte", -(2**63)), limits.get("lte", 2**63)
        values = {key: source[name] for key, source in self.sources.items() if name in source}
        return {key: 1.0 for key, value in values.items() if least <= value <= most}

    def _bool(self, inner: Mapping[str, Any]) -> Scores:
        known = {"must", "filter", "should", "must_not", "minimum_should_match"}
        _only(inner, known, "bool")
        scored = [self._scores(each) for each in inner.get("must", ())]
        found = [set(each) for each in scored]
        found.extend(set(self._scores(each)) for each in inner.get("filter", ()))
        if "should" in inner:
            if inner.get("minimum_should_match") != 1:
                raise BadRequest("parsing_exception", "[minimum_should_match] of 1 is expected")
            found.append(set().union(*(self._scores(each) for each in inner["should"])))
        keys = set(self.sources) if not found else set.intersection(*found)
        keys = keys.difference(*(self._scores(each) for each in inner.get("must_not", ())))
        return {key: sum(each.get(key, 0.0) for each in scored) for key in keys}

    def _ordered(self, scores: Scores, sort: list[Mapping[str, Any]]) -> list[str]:
        order = sorted(scores)
        for each in reversed(sort):
            name, how = _one(each, "sort")
            if name != "_score" and self._kind(name) not in {"keyword", "integer", "long"}:
                raise BadRequest("query_shard_exception", f"No mapping found for [{name}] in order")
            values = self._sorted_by(name, scores)
            order.sort(key=values.__getitem__, reverse=how["order"] == "desc")
        return order

    def _sorted_by(self, name: str, scores: Scores) -> Mapping[str, Any]:
        if name == "_score":
            return scores
        without = "" if self._kind(name) == "keyword" else 0
        return {key: self.sources[key].get(name, without) for key in scores}

    def _aggregations(self, asked: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
        return {name: self._aggregation(each, keys) for name, each in asked.items()}

    def _aggregation(self, asked: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
        inner = {name: value for name, value in asked.items() if name != "aggs"}
        kind, how = _one(inner, "aggregation")
        if kind == "terms":
            return self._buckets(how, keys)
        if kind == "sum":
            return {"value": float(sum(self.sources[key].get(how["field"], 0) for key in keys))}
        if kind == "filters":
            counts = {
                name: {"doc_count": len(keys.intersection(self._scores(query)))}
                for name, query in how["filters"].items()
            }
            return {"buckets": counts}
        if kind == "global":
            keys = set(self.sources)
        elif kind == "filter":
            keys = keys.intersection(self._scores(how))
        else:
            raise BadRequest("parsing_exception", f"Unknown aggregation type [{kind}]")
        return {"doc_count": len(keys), **self._aggregations(asked.get("aggs", {}), keys)}

    def _buckets(self, how: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
        _only(how, {"field", "size"}, "terms")
        if self._kind(how["field"]) != "keyword" or how["size"] > _BUCKETS:
            raise BadRequest("illegal_argument_exception", f"[terms] cannot be made of {how}")
        counts = {value: len(keys & having) for value, having in self._values[how["field"]].items()}
        listed = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        buckets = [{"key": value, "doc_count": count} for value, count in listed if count]
        return {"buckets": buckets[: how["size"]]}


def analysed(text: str) -> list[str]:
    """What the analyser makes of a text: whitespace, lower case, Porter."""
    return [stem(word.lower()) for word in text.split()]


def stored(length: int) -> int:
    """A length as it is after Lucene kept it in one byte: exact up to 40, then ever coarser."""
    if length < _FREE:
        return length
    rest = length - _FREE
    shift = max(rest.bit_length() - 4, 0)
    return _FREE + (rest >> shift << shift)


def _one(value: Mapping[str, Any], what: str) -> tuple[str, Any]:
    if not isinstance(value, dict) or len(value) != 1:
        raise BadRequest("parsing_exception", f"[{what}] malformed, expected one field")
    return next(iter(value.items()))


def _only(value: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise BadRequest("parsing_exception", f"[{what}] unknown field [{unknown[0]}]")
