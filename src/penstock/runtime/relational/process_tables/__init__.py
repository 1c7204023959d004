"""Process table functions: functions of users with state and timers that SQL calls with a table."""
