"""The grammar of expressions and queries, on sqlglot's parser."""
