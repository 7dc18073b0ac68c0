"""The requests of the JSON API as the server reads them, and the configurations in them."""
