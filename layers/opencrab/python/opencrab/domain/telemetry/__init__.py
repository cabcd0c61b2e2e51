"""Telemetry: what observability tools are told of a turn, in OpenTelemetry's words.

How it travels is `adapters/telemetry`; the product's own figures are `insight` and `usage`.
"""
