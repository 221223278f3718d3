"""The command `keyloom`, and servers for tests (`keyloom.testing`)."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig

__all__ = ["find_keyloom"]


def find_keyloom() -> str:
    """The path of the command that this package has brought.

    The environment variable KEYLOOM names another one.
    """
    named = os.environ.get("KEYLOOM")
    if named:
        return named
    name = "keyloom" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts")]
    # Where `pip install --user` and `--target` put commands.
    if hasattr(sysconfig, "get_preferred_scheme"):
        folders.append(
            sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
        )
    package = os.path.dirname(os.path.abspath(__file__))
    folders.append(os.path.join(os.path.dirname(package), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    found = shutil.which("keyloom")
    if found:
        return found
    raise FileNotFoundError(
        f"the command keyloom is in none of {', '.join(folders)} and not on the path; "
        f"install the package again for {sys.executable}, or set KEYLOOM to its path"
    )
