"""``python -m namecheck``; ``python -P -m namecheck`` where the working folder is a stranger's."""

import os
import sys

# With -m, Python looks for each module in the working folder first. That this one has been found
# elsewhere, we need nothing of that folder, whose files may be anyone's.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()] != [
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
]:
    del sys.path[0]

from namecheck.cli.main import main

sys.exit(main())
