"""What every driver of a peer does: take the stub's address, alternate with the floor, print JSON.

Runs in the peer's own environment, which has nothing of ours but these files.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench.floor import bare_loop, beside_floor

MEMO = Path("notes") / "memo.txt"
DESCRIPTION = "Write a file in your workspace, replacing it if it exists."
INSTRUCTIONS = "あなたは蟹という名前のアシスタントです。頼まれたことを、ツールで行います。"


def write_memo(folder: Path, path: str, content: str) -> str:
    """What the tool does, for peers that have none of their own."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content, encoding="utf-8")
    return f"{len(content)} characters written"


def measure(version: str, open_peer: Callable[[str, Path], Callable[[], object]]) -> None:
    """Run `DRIVER MODEL_URL FOLDER TURNS`; `open_peer` makes what runs one turn in a fresh session.

    Raises:
        RuntimeError: the turns wrote no file, so the figures would be of something else.
    """
    url, folder, turns = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    (found,) = beside_floor(bare_loop(url), open_peer(url, folder), turns=turns)
    if not list(folder.rglob(MEMO.name)):
        raise RuntimeError(f"no {MEMO} was written below {folder}")
    sys.stdout.write(f"\n{json.dumps({'version': version, **found.as_json()})}\n")
