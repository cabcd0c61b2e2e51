"""FastAPI without the models of OpenAPI, which it would build although hardly anybody asks."""

from importlib import import_module

from pydantic import BaseModel


def load_http_app_quickly() -> None:
    """Load FastAPI without building its models of OpenAPI, a seventh of a cold start.

    They are built when the document is requested. Other models are not affected.
    """
    BaseModel.model_config["defer_build"] = True
    try:
        import_module("fastapi.openapi.models")
    finally:
        del BaseModel.model_config["defer_build"]
