"""The engine on Spark: the only package that imports pyspark."""

from penstock.spark.session.start_failure import check_pyspark, installed_pyspark

check_pyspark(installed_pyspark())  # before anything of this package asks an old PySpark for what it does not have
