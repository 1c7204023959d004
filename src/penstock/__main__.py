"""Runs the command `penstock` for `python -m penstock`."""

from penstock.cli.main import app

if __name__ == "__main__":
    app()
