"""PyFlink's own tests on Penstock: `make pyflink-tests`. See README.md."""
