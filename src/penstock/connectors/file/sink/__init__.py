"""The file sink: hidden files in tasks, published by the driver when the batch commits."""
