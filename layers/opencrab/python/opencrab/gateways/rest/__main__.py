"""Prints the OpenAPI document: `python -m opencrab.gateways.rest > infra/openapi.json`."""

import sys

from opencrab.gateways.rest.app import routed
from opencrab.gateways.rest.http.openapi import text

if __name__ == "__main__":
    sys.stdout.write(text(routed()))
