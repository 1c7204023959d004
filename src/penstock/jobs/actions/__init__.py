"""Actions on jobs, one module each. The command line and a server call these functions, which print nothing."""
