"""What the lookups of connectors share: options, hints, caches and conversions of rows."""
