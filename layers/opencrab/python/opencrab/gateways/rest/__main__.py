"""Prints the OpenAPI document: `python -m opencrab.gateways.rest > infra/openapi.json`."""

import sys

from opencrab.gateways.rest.app import build_rest_routes
from opencrab.gateways.rest.http.openapi import http_openapi_text

if __name__ == "__main__":
    sys.stdout.write(http_openapi_text(build_rest_routes()))
