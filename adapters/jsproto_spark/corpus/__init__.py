"""Traces by the thousand: a corpus as Parquet, judged on Spark by the code that judges one file on
a laptop.

    from jsproto_spark.corpus import judge, load

    corpus = load(spark, "s3a://incidents/*.trace")
    judged = judge(corpus)
    judged.violations.groupBy("rule").count().show()

`load` makes one row of each trace, `judge` the tables about them, `differing` compares what two
versions of the core decide, `jsproto_spark.corpus.live` judges traces while they are being
recorded.
"""

from jsproto_spark.corpus.tables import Judged, differing, judge, load

__all__ = ["Judged", "differing", "judge", "load"]
