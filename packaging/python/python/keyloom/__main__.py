"""`python -m keyloom` is `keyloom`."""

import os
import subprocess
import sys

from keyloom import find_keyloom

if __name__ == "__main__":
    command = [find_keyloom(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.call(command))
