"""Commands for a machine: servers for development, jars, options, and checks of the installation."""
