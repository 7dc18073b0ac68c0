"""JetStream on Spark: the data source ``jetstream`` for batches and streams, read and write.

It uses the blocking adapter: ``spark.read.format("jetstream")``.
"""
