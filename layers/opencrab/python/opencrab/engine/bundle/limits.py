"""Limits of bundles: what an import reads before it refuses."""

BUNDLE_BYTES = 512 << 20
"""The largest bundle, packed and unpacked: five times the files that an agent may have."""

BUNDLE_FILE_BYTES = 5 << 20
"""The largest file in a bundle: what a request can carry to a local installation."""

BUNDLE_ROW_BYTES = 256 << 10
BUNDLE_ROWS = 200_000
BUNDLE_FILES = 20_000

BUNDLE_PART_BYTES = 512 << 10
"""The rows of one request of an import, in bytes."""

BUNDLE_PART_ROWS = 200
BUNDLE_PARTS = 4_000
