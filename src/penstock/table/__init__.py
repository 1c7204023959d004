"""Tables and SQL. Nothing here is imported by `import penstock`."""
