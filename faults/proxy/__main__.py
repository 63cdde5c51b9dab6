"""`python -P -m faults.proxy`."""

import sys

from faults.proxy import main

sys.exit(main())
