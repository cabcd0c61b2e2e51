"""Takes out of botocore what we never call: it is loaded, read and parsed at every cold start.

`python slim.py FOLDER`, the folder that holds botocore. Of some 400 services those stay that we
call and those that find credentials; of their descriptions, everything but the words for people.
The code that writes docstrings of clients goes as well: it loads parsers of HTML and XML.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

SERVICES = {
    *("apigatewaymanagementapi", "dynamodb", "events", "lambda", "s3", "secretsmanager", "sqs"),
    *("ssm", "sso", "sso-oidc", "sts"),
}
"""As botocore's folders name them."""

ENDPOINTS = (SERVICES - {"apigatewaymanagementapi", "sso", "sso-oidc"}) | {
    *("execute-api", "oidc", "portal.sso"),
}
"""As botocore's list of endpoints names them."""

DOCSTRINGS = '''"""Docstrings of clients, left out of this layer."""


class ClientMethodDocstring(str):
    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)


PaginatorDocstring = WaiterDocstring = ClientMethodDocstring
'''
"""What botocore's clients, paginators and waiters take of `botocore.docs.docstring`."""

WORDS = {"documentation", "documentationUrl"}
EXAMPLES = "examples-1.json"


def slim(data: Path) -> None:
    """Take it out of botocore's folder of data."""
    for service in data.iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)
    for examples in data.rglob(EXAMPLES):
        examples.unlink()
    endpoints = data / "endpoints.json"
    endpoints.write_text(_compact(without_others(json.loads(endpoints.read_text()))))
    for description in data.rglob("service-2.json.gz"):
        with gzip.open(description, "rt", encoding="utf-8") as file:
            told = json.load(file)
        with gzip.GzipFile(description, "wb", mtime=0) as file:
            file.write(_compact(without_words(told)).encode())


def leave_out_docstrings(docs: Path) -> None:
    """Empty botocore's package `docs` but for its `utils`, which its handlers need."""
    for each in docs.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name != "utils.py":
            each.unlink()
    (docs / "__init__.py").write_text("")
    (docs / "docstring.py").write_text(DOCSTRINGS)


def without_others(endpoints: dict[str, Any]) -> dict[str, Any]:
    """The endpoints of our services; regions and partitions stay."""
    for partition in endpoints["partitions"]:
        services = partition["services"]
        partition["services"] = {name: services[name] for name in ENDPOINTS & services.keys()}
    return endpoints


def without_words(told: Any) -> Any:
    """A description with empty documentation, since botocore asks for some of it by name.

    A shape or member that is called so stays.
    """
    if isinstance(told, dict):
        return {
            name: "" if name in WORDS and isinstance(part, str) else without_words(part)
            for name, part in told.items()
        }
    return [without_words(part) for part in told] if isinstance(told, list) else told


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    botocore = Path(sys.argv[1]) / "botocore"
    slim(botocore / "data")
    leave_out_docstrings(botocore / "docs")
