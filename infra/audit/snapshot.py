"""The advisories beside this file, and how OSV's API renews them.

A snapshot lets pip-audit judge the locks where the network reaches no advisory service. It holds
only the packages that the locks pin, and of each advisory only its ids and the versions it affects.
"""

import json
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

SNAPSHOT = Path(__file__).with_name("advisories.json")
OSV = "https://api.osv.dev/v1/query"

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def read_snapshot(path: Path = SNAPSHOT) -> dict[str, Any]:
    """The snapshot: `as_of`, `source`, `complete`, and `packages` with their advisories."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def affecting(snapshot: Mapping[str, Any], name: str, version: str) -> list[dict[str, Any]]:
    """The advisories that affect `version` of `name`, as OSV's API answers a query."""
    advisories = snapshot["packages"].get(name, [])
    return [_answer(name, each) for each in advisories if _affects(each, version)]


def collect(names: Iterable[str], ask: Ask, today: date, source: str = OSV) -> dict[str, Any]:
    """A new snapshot of every advisory for `names`.

    Args:
        names: the packages, with their registry's names.
        ask: sends one query to OSV's API and returns its answer; raises if there is none.
        today: the date that the snapshot carries.
        source: where `ask` sends its queries.
    """
    packages = {name: _advisories(name, ask) for name in sorted(set(names))}
    return {
        "as_of": today.isoformat(),
        "source": source,
        "complete": True,
        "packages": {name: found for name, found in packages.items() if found},
    }


def write_snapshot(snapshot: Mapping[str, Any], path: Path = SNAPSHOT) -> None:
    """Write the snapshot with one line for each advisory, so that a diff shows what is new."""
    blocks = []
    for name, advisories in sorted(snapshot["packages"].items()):
        lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in advisories)
        blocks.append(f" {json.dumps(name)}: [\n{lines}\n ]")
    head = {key: value for key, value in snapshot.items() if key != "packages"}
    body = ",\n".join(blocks)
    text = f'{json.dumps(head, ensure_ascii=False)[:-1]},\n"packages": {{\n{body}\n}}}}\n'
    path.write_text(text, encoding="utf-8")


def ask_osv(query: Mapping[str, Any]) -> Mapping[str, Any]:
    """Send one query to OSV's API.

    Raises:
        OSError: the API cannot be reached from here, or refused the query.
    """
    request = urllib.request.Request(
        OSV, data=json.dumps(query).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    return answer


def _advisories(name: str, ask: Ask) -> list[dict[str, Any]]:
    query: dict[str, Any] = {"package": {"name": name, "ecosystem": "PyPI"}}
    found: list[dict[str, Any]] = []
    while True:
        answer = ask(query)
        for vulnerability in answer.get("vulns", []):
            kept = _shorten(name, vulnerability)
            if kept is not None:
                found.append(kept)
        if not answer.get("next_page_token"):
            return sorted(found, key=lambda each: str(each["id"]))
        query = {**query, "page_token": answer["next_page_token"]}


def _shorten(name: str, vulnerability: Mapping[str, Any]) -> dict[str, Any] | None:
    if vulnerability.get("withdrawn"):
        return None
    affected = [
        each
        for each in vulnerability.get("affected", [])
        if each.get("package", {}).get("ecosystem") == "PyPI"
        and str(each["package"].get("name", "")).lower() == name
    ]
    events = [
        event
        for each in affected
        for span in each.get("ranges", [])
        if span["type"] == "ECOSYSTEM"
        for event in span["events"]
    ]
    kept: dict[str, Any] = {"id": vulnerability["id"], "aliases": vulnerability.get("aliases", [])}
    if events:
        return {**kept, "events": events}
    return {**kept, "versions": [each for entry in affected for each in entry.get("versions", [])]}


def _affects(advisory: Mapping[str, Any], version: str) -> bool:
    if version in advisory.get("versions", ()):
        return True
    events = sorted(advisory.get("events", ()), key=_moment)
    affected = False
    for event in events:
        (kind, bound), *_ = event.items()
        here = Version(version)
        if kind == "introduced" and here >= _version(bound):
            affected = True
        if (kind == "fixed" and here >= _version(bound)) or (
            kind == "last_affected" and here > _version(bound)
        ):
            affected = False
    return affected


def _moment(event: Mapping[str, str]) -> tuple[Version, bool]:
    (kind, bound), *_ = event.items()
    return _version(bound), kind == "introduced"


def _version(bound: str) -> Version:
    # Where a bound is no version, the advisory counts as of the beginning: better one too many.
    try:
        return Version(bound)
    except InvalidVersion:
        return Version("0")


def _answer(name: str, advisory: Mapping[str, Any]) -> dict[str, Any]:
    span = {"type": "ECOSYSTEM", "events": advisory.get("events", [])}
    package = {"name": name, "ecosystem": "PyPI"}
    return {
        "id": advisory["id"],
        "aliases": advisory.get("aliases", []),
        "summary": advisory.get("summary", ""),
        "affected": [{"package": package, "ranges": [span]}],
    }
