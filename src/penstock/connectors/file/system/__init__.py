"""File systems behind one interface: local, S3, HDFS, and those of pyarrow and fsspec."""
