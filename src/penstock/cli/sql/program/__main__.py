"""The program of SQL jobs. It has a folder of its own, because the folder of a program is added to the import path.

`penstock sql` runs it like any other program, so that `penstock resume`, `fork`, `info` and savepoints work for SQL jobs, too.
"""

import sys

from penstock.cli.sql.script_program import main

main(sys.argv[1:])
