"""FastAPI loads without building the models of OpenAPI; those of others are built as ever."""

import subprocess
import sys

PROGRAM = """
from opencrab.gateways.rest.fastapi_import import load_http_app_quickly
load_http_app_quickly()
from fastapi.openapi.models import OpenAPI
from pydantic import BaseModel
class Later(BaseModel):
    number: int
print(OpenAPI.__pydantic_complete__, Later.__pydantic_complete__, Later(number=1).number)
"""


def test_only_the_models_of_openapi_wait_for_their_first_use() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.split() == ["False", "True", "1"]
