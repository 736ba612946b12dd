# SPDX-License-Identifier: MIT
"""The command `leat`, which lies beside this file in a wheel."""

import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leat")
    try:
        os.execv(command, ["leat", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"leat: {command}: {error.strerror}: the package was installed without its command")


if __name__ == "__main__":
    main()
