"""What the sh shims run: `python -I -S …/hookmain.py claude Stop RECORD`.

A script and no module of the package, since `-S` leaves out site-packages and with it a fifth
of Python's start: a hook needs nothing but this package and the standard library.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cortex_git.env import Env
from cortex_git.hook.entry import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], Env.of_process()))
