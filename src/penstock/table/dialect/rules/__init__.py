"""Rules of statements: functions that read a statement from the parser."""
