"""The storage of materialized tables: files of columns that are merged by key, and a manifest that each commit replaces."""
