"""SET and RESET."""

from __future__ import annotations

from penstock.redaction import is_secret
from penstock.table.dialect.statements.session import ResetOption, SetOption, UseModules
from penstock.table.environment.answer import Answer, ok, table_answer
from penstock.table.environment.session import Session
from penstock.types.logical.kinds import STRING


def set_option(session: Session, statement: SetOption, text: str) -> Answer:
    """Runs SET. Without a key it lists the settings."""
    if statement.key is None:
        rows = [[k, "******" if is_secret(k) else v] for k, v in session.config.values().items()]
        return table_answer([("key", STRING), ("value", STRING)], rows)
    session.config.set(statement.key.strip(), statement.value)
    return ok()


def reset_option(session: Session, statement: ResetOption, text: str) -> Answer:
    """Runs RESET."""
    session.config.reset(statement.key.strip() if statement.key is not None else None)
    return ok()


def use_modules(session: Session, statement: UseModules, text: str) -> Answer:
    """Runs USE MODULES core, the only module, which is in use already."""
    return ok()
