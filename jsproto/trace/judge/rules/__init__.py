"""The rules of the lint, one module for each area; the table is `jsproto.trace.judge.lint.RULES`."""
