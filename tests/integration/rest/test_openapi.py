"""The interface as a document, and how little it takes to serve it."""

import json
import subprocess
import sys

from tests.conftest import ROOT
from tests.integration.rest.house import documented

COMMAND = "python -m opencrab.gateways.rest > infra/openapi.json"
HEAVY = {"boto3", "mangum", "aws_lambda_powertools", "httpx", "typer", "rich"}
PROGRAM = f"import opencrab.gateways.rest.app, sys; print(*({HEAVY!r} & set(sys.modules)))"


def test_the_file_is_the_document_that_the_command_makes_of_the_routes() -> None:
    kept = (ROOT / "infra" / "openapi.json").read_bytes()
    command = [sys.executable, "-m", "opencrab.gateways.rest"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert printed.stdout == kept, f"the interface has changed: run `{COMMAND}`"


def test_every_operation_has_its_own_id_a_summary_and_problems() -> None:
    assert documented()["openapi"].startswith("3.1")
    operations = [
        (path, operation)
        for path, item in documented()["paths"].items()
        for operation in item.values()
    ]
    ids = [operation["operationId"] for _, operation in operations]
    assert len(set(ids)) == len(ids) == 224
    for path, operation in operations:
        assert operation["summary"]
        assert "422" not in operation["responses"]
        response = "OpenAiError" if path.startswith("/v1/") else "Problem"
        problems = {"$ref": f"#/components/responses/{response}"}
        expected = None if path == "/api/health" else problems
        assert operation["responses"].get("default") == expected


def test_every_post_takes_an_idempotency_key() -> None:
    for path, item in documented()["paths"].items():
        # A sign-in code is used up by its first request, so that no repeat may be answered.
        if "post" in item and path != "/api/sign-in":
            names = {parameter["name"] for parameter in item["post"].get("parameters", [])}
            assert "Idempotency-Key" in names, path


def test_every_reference_in_the_document_leads_somewhere() -> None:
    references = {
        found.split('"')[0]
        for found in json.dumps(documented()).split('"$ref": "#/components/')[1:]
    }
    for reference in references:
        kind, name = reference.split("/")
        assert name in documented()["components"][kind]


def test_importing_the_gateway_loads_no_cloud_client_or_terminal() -> None:
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    assert run.stdout.split() == []


def test_every_component_has_a_name_of_its_own() -> None:
    assert [name for name in documented()["components"]["schemas"] if "__" in name] == []
