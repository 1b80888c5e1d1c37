"""``python -m namecheck``."""

import sys

from namecheck.cli.main import main

sys.exit(main())
