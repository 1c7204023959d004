"""Commands for savepoints: take, check, list, show, verify, delete, prune."""
