"""`python -m cortex_git` is `git-cortex`."""

import sys

from cortex_git.main import main

sys.exit(main())
