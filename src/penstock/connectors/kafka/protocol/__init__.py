"""Parts of the Kafka protocol that the direct reader uses: connections, fetch requests, record batches."""
