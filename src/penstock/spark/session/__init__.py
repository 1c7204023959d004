"""The Spark session: workers, shipped files, serialization, and errors that cross process boundaries."""
