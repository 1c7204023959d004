"""The functions that SQL knows: scalar functions of the registry, aggregate functions, and the closest name of a wrong one."""
