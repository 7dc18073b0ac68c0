"""Clients without ``await``: most files are made of those of `jsproto_io._async_client`."""
