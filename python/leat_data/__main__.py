# SPDX-License-Identifier: MIT
"""`python -m leat_data` is the command `leat`."""

from ._command import main

main()
