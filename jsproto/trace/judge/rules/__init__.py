"""The rules of the judge, one module an area; `jsproto.trace.judge.lint.RULES` lists them."""
