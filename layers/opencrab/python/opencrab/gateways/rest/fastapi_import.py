"""FastAPI without the models of OpenAPI, which it would build although hardly anybody asks."""

import sys
from importlib import import_module
from types import ModuleType

import pydantic
from pydantic import BaseModel


def load_http_app_quickly() -> None:
    """Load FastAPI without building its models of OpenAPI, a seventh of a cold start.

    They are built when the document is requested. Other models are not affected.
    """
    _answer_for_old_pydantic()
    BaseModel.model_config["defer_build"] = True
    BaseModel.model_config["protected_namespaces"] = ()
    try:
        import_module("fastapi.openapi.models")
    finally:
        del BaseModel.model_config["defer_build"]
        del BaseModel.model_config["protected_namespaces"]


def _answer_for_old_pydantic() -> None:
    """Spare FastAPI the 28 modules of pydantic 1, which it loads to ask whether a model is theirs.

    Whoever imports `pydantic.v1` itself still gets it.
    """
    if "pydantic.v1" not in sys.modules:
        old = ModuleType("pydantic.v1")
        vars(old)["BaseModel"] = type("BaseModel", (), {})
        vars(pydantic)["v1"] = old
