"""A data folder with something of everything in it."""

from pathlib import Path

from opencrab.adapters.backup.backups import FolderBackups
from opencrab.adapters.local_files import DirectorySnapshots, FileSecrets
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.identifier import content_hash
from tests.contract.example import profile
from tests.unit.adapters.sqlite.home import NOW, home

CLOCK = FakeClock(NOW)
BACKUPS = FolderBackups(CLOCK)
BODY = '{"蟹": "大きな結果"}'.encode()
POINTED = f'{{"kind":"pointer","n":3,"sha256":"{content_hash(BODY)}","size":9}}'


def installation(folder: Path) -> Path:
    """An agent with two versions of a file, a large result, an index and keys."""
    with home(folder) as (opened, database):
        opened.agents.create(profile("hana", name="花"))
        opened.files.write("hana", "notes/蟹.md", b"one")
        opened.files.write("hana", "notes/蟹.md", b"two", clean=True)
        opened.blobs.put(content_hash(BODY), BODY)
        with database.write_transaction() as items:
            items.put("TURN#t1", "0003R", POINTED)
    index = folder.parent / "index"
    index.write_bytes(b"an index")
    DirectorySnapshots(folder / "search", CLOCK).publish(
        "hana", index, rows=1, tokenizer=1, over=None
    )
    (folder / "search-copies").mkdir()
    (folder / "search-copies" / "1.db").write_bytes(b"a copy")
    (folder / "owner.key").write_text("oc_owner\n")
    (folder / "owner.key").chmod(0o600)
    (folder / "endpoint").write_text("http://127.0.0.1:8080\n")
    (folder / "discord-relay.json").write_text("{}")
    FileSecrets(folder).put("OPENAI_API_KEY", "sk-secret")
    (folder / FILE).chmod(0o600)
    return folder


def names(folder: Path) -> set[str]:
    """All files of a folder, from its top."""
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}
