"""A job graph compiled into programs: plain data that is created once on the driver."""
