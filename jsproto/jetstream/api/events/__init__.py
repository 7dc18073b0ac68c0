"""Messages that servers send without a request, and answers to monitoring requests."""
