"""TypeScript's compiler over the modules of the dashboard, whose types are in JSDoc."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.page_types.rest import Document, declarations

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "layers/opencrab/python/opencrab/gateways/rest/page/static"
TSC = ROOT / ".node" / "node_modules" / "typescript" / "lib" / "tsc.js"
MISSING = "" if TSC.is_file() and shutil.which("node") else "no TypeScript in .node"
SHARED = Path(__file__).with_name("page.d.ts")

# What has no type is not followed: fields and routes that are not there, and null, are sought.
OPTIONS: dict[str, Any] = {
    "allowJs": True,
    "checkJs": True,
    "noEmit": True,
    "strict": True,
    "noImplicitAny": False,
    "target": "es2023",
    "module": "esnext",
    "moduleResolution": "bundler",
    "lib": ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
    "types": [],
    "skipLibCheck": False,
    "paths": {"page/*": [f"{STATIC}/*"]},
}


def faults(document: Document) -> list[str]:
    """What the compiler finds in the modules, for an API that this document describes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rest.d.ts").write_text(declarations(document), encoding="utf-8")
        files = [str(folder / "rest.d.ts"), str(SHARED)]
        project = {"compilerOptions": OPTIONS, "files": files, "include": [f"{STATIC}/**/*.js"]}
        (folder / "tsconfig.json").write_text(json.dumps(project), encoding="utf-8")
        command = ["node", str(TSC), "--pretty", "false", "--project", name]
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=STATIC)
    said = run.stdout.splitlines() or run.stderr.splitlines()
    return [line for line in said if not line.startswith(" ")]
