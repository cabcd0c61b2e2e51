"""The snapshot of advisories: what affects a version, and how OSV's answers become one."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from infra.audit.locks import DEVELOPMENT, SHIPPED, read_pins
from infra.audit.snapshot import affecting, collect, read_snapshot, write_snapshot
from tests.conftest import ROOT

TODAY = date(2026, 11, 23)


def _known(*events: dict[str, str], versions: tuple[str, ...] = ()) -> dict[str, Any]:
    advisory = {"id": "PYSEC-2026-1", "aliases": [], "events": events, "versions": versions}
    return {"packages": {"leaky": [advisory]}}


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ("0.9", False),
        ("1.0", True),
        ("1.4.1", True),
        ("1.4.2rc1", True),
        ("1.4.2", False),
        ("1.10", False),
        ("2.0", True),
        ("2.1", True),
        ("2.1.1", False),
    ],
)
def test_a_version_is_affected_from_introduced_until_fixed(version: str, affected: bool) -> None:  # noqa: FBT001
    known = _known(
        {"introduced": "2.0"},
        {"fixed": "1.4.2"},
        {"introduced": "1.0"},
        {"last_affected": "2.1"},
    )
    assert bool(affecting(known, "leaky", version)) is affected


def test_zero_introduces_all_versions_and_a_list_names_single_ones() -> None:
    assert affecting(_known({"introduced": "0"}), "leaky", "0.0.1.dev1")
    assert affecting(_known(versions=("1.1",)), "leaky", "1.1")
    assert not affecting(_known(versions=("1.1",)), "leaky", "1.2")
    assert not affecting(_known({"introduced": "0"}), "other", "1.0")


def test_a_new_snapshot_keeps_ids_and_versions_of_all_pages(tmp_path: Path) -> None:
    def advisory(number: int, name: str = "leaky", **more: Any) -> dict[str, Any]:
        events = [{"introduced": "0"}, {"fixed": f"1.{number}"}]
        package = {"name": name, "ecosystem": "PyPI"}
        commits = {"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "abc"}]}
        spans = [commits, {"type": "ECOSYSTEM", "events": events}]
        affected = [{"package": package, "ranges": spans, "versions": ["1.0"]}]
        return {"id": f"PYSEC-2026-{number}", "details": "長い" * 99, "affected": affected, **more}

    pages: dict[str | None, dict[str, Any]] = {
        None: {"vulns": [advisory(2, "Leaky")], "next_page_token": "next"},
        "next": {"vulns": [advisory(1), advisory(3, withdrawn="2026-01-01T00:00:00Z")]},
    }

    def ask(query: Mapping[str, Any]) -> Mapping[str, Any]:
        assert query["package"]["ecosystem"] == "PyPI"
        return pages[query.get("page_token")] if query["package"]["name"] == "leaky" else {}

    path = tmp_path / "advisories.json"
    write_snapshot(collect(["leaky", "fine"], ask, TODAY, "test"), path)
    written = read_snapshot(path)
    assert (written["as_of"], written["complete"]) == ("2026-11-23", True)
    assert {name: [each["id"] for each in kept] for name, kept in written["packages"].items()} == {
        "leaky": ["PYSEC-2026-1", "PYSEC-2026-2"]
    }
    assert "長い" not in path.read_text(encoding="utf-8")
    assert [each["id"] for each in affecting(written, "leaky", "1.1")] == ["PYSEC-2026-2"]


def test_the_shipped_snapshot_is_small_dated_and_about_packages_that_we_lock() -> None:
    path = ROOT / "infra" / "audit" / "advisories.json"
    snapshot = read_snapshot(path)
    locks = ROOT / "requirements"
    pins = [pin for lock in (*SHIPPED, *DEVELOPMENT) for pin in read_pins(locks, lock)]
    assert date.fromisoformat(snapshot["as_of"]) >= TODAY
    assert snapshot["packages"].keys() <= {pin.name for pin in pins}
    assert path.stat().st_size < 200_000
    assert len(path.read_text(encoding="utf-8").splitlines()) > 30
    older = {"cryptography": "41.0.0", "urllib3": "2.7.0", "starlette": "0.40.0", "h11": "0.14.0"}
    assert all(affecting(snapshot, name, version) for name, version in older.items())
    assert json.dumps(snapshot["packages"])
