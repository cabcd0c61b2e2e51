"""The init system of this computer: systemd on Linux, launchd on macOS, None elsewhere."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.ports.installation.init_system import InitSystem


def local_init_system() -> "InitSystem | None":
    """Return the init system of the user who runs this command.

    A variable of the shell that moves ~/.config is not followed: systemd does not see it.
    """
    home, executable = Path.home(), Path(sys.argv[0]).absolute()
    here: str = sys.platform  # as text: a type checker takes it for this computer's alone
    if here == "darwin":
        from opencrab.adapters.init_system.launchd import LaunchdUser

        return LaunchdUser(home, os.getuid(), executable)
    if here == "linux":
        from opencrab.adapters.init_system.systemd import SystemdUser

        return SystemdUser(home / ".config", executable)
    return None
