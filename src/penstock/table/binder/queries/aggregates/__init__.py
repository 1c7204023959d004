"""Parts of the binder for aggregate functions: types of calls, functions of users, and table aggregate functions."""
