"""Tools for operators over the API: reports, tables, backups, contexts of the ``nats`` CLI,
permissions and sizes.
"""
