"""``python -m namecheck``."""

import sys

from namecheck.cli import main

sys.exit(main())
