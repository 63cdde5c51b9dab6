"""`python -P -m brokertrial.faults.proxy`."""

import sys

from brokertrial.faults.proxy import main

sys.exit(main())
