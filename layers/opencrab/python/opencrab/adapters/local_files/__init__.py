"""Workspace files, large journal bodies and secrets, in a directory of this machine."""

from opencrab.adapters.local_files.blobs import LocalBlobs
from opencrab.adapters.local_files.disk import Disk
from opencrab.adapters.local_files.files import LocalFiles
from opencrab.adapters.local_files.secrets import FileSecrets

__all__ = ["Disk", "FileSecrets", "LocalBlobs", "LocalFiles"]
