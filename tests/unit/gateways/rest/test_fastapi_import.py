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


OLD = """
import sys
from opencrab.gateways.rest.fastapi_import import load_http_app_quickly
load_http_app_quickly()
from fastapi import FastAPI
from pydantic import BaseModel
class Crab(BaseModel):
    legs: int
app = FastAPI()
@app.post("/crabs")
def post_crab(crab: Crab) -> list[Crab]:
    return [crab]
print("pydantic.v1" in sys.modules)
import pydantic.v1
print(pydantic.v1.BaseModel.__module__, sys.modules["pydantic.v1"] is pydantic.v1)
"""


def test_routes_do_not_load_the_old_pydantic_which_others_still_can() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", OLD], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.split() == ["False", "pydantic.v1.main", "True"]


def test_only_the_models_of_openapi_wait_for_their_first_use() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.split() == ["False", "True", "1"]
