"""Python functions of users in expressions and as table functions, called over columns."""
