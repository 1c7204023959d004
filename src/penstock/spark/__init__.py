"""The engine on Spark: the only package that imports pyspark."""

from penstock.spark.session.start_failure import check_pyspark, installed_pyspark

check_pyspark(installed_pyspark())  # before this package imports names that an old PySpark does not have
