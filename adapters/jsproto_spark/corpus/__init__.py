"""Judges large sets of traces on Spark, with the same code as ``jsproto lint`` for one file.

    from jsproto_spark.corpus import judge, load

    corpus = load(spark, "s3a://incidents/*.trace")
    judged = judge(corpus)
    judged.violations.groupBy("rule").count().show()

`load` makes one row of each trace, `judge` makes tables, `differing` compares the decisions of two
versions of the core. `jsproto_spark.corpus.live` judges traces while they are being recorded.
"""

from jsproto_spark.corpus.tables import Judged, differing, judge, load

__all__ = ["Judged", "differing", "judge", "load"]
