"""Pull consumers: pull requests, the open pulls, and the feeds that stand on them: fetch and
consume.
"""
