"""``python -m timebound.cli``."""

import sys

from . import main

if __name__ == "__main__":  # and not where a worker of Dask imports it
    sys.exit(main())
