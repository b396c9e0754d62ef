"""python -m tilewright: the program `tilewright`, in this process's place."""
import os
import signal
import sys
from typing import NoReturn

from ._lab import program


def main() -> NoReturn:
    for name in ("SIGPIPE", "SIGXFSZ"):  # which Python ignores, and the program would inherit that
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(program(), ["tilewright", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tilewright: {error}")


if __name__ == "__main__":
    main()
