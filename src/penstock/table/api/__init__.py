"""The Table API: tables of which programs make other tables with methods instead of SQL."""
