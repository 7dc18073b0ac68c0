"""How often Spark tries a task that fails, by itself for a master of its own.

python tests/spark/attempts.py 'local[2]'
"""

from __future__ import annotations

import re
import sys

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.errors import PySparkException


def tried(context):
    """So often was a task tried before its job was given up."""

    def fail(number):
        raise ValueError(f"attempt {TaskContext.get().attemptNumber()} of {number} failed")

    try:
        context.parallelize([0], 1).map(fail).collect()
    except (Py4JJavaError, PySparkException) as error:
        return 1 + int(re.findall(r"attempt (\d+) of 0 failed", str(error))[-1])
    raise AssertionError("expected a job that fails")


def alone(master, settings):
    """The same on a master of its own."""
    conf = SparkConf().setMaster(master).setAppName("attempts").setAll(list(settings.items()))
    with SparkContext(conf=conf) as context:
        return tried(context)


if __name__ == "__main__":
    print(alone(sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])))
