"""Telemetry by the OpenTelemetry SDK: traces and metrics over OTLP.

What is told is `domain/telemetry`. Loading it loads the SDK, so that
happens with the first turn of an installation that has an endpoint.
"""
