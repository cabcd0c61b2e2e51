"""Workspace files, large journal bodies, secrets and snapshots, in a directory.

All else of the local home is in one file, by `adapters/sqlite`.
"""

from opencrab.adapters.local_files.attached_files import AttachedFiles
from opencrab.adapters.local_files.blobs import LocalBlobs
from opencrab.adapters.local_files.disk import Disk
from opencrab.adapters.local_files.files import LocalFiles
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.local_files.snapshots import DirectorySnapshots

__all__ = ["AttachedFiles", "DirectorySnapshots", "Disk", "FileSecrets", "LocalBlobs", "LocalFiles"]
