"""JetStream on Spark: ``spark.read.format("jetstream")``, batch and streaming, read and write, on
the blocking adapter.
"""
