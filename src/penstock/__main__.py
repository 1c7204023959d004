"""`python -m penstock` is the command `penstock`."""

from penstock.cli.main import app

if __name__ == "__main__":
    app()
