"""The command line: ``python -m probeidx``, and the script that pip installs."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from ._probeidx import main


def run() -> NoReturn:
    # As any program, it ends at once when it is interrupted.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
