"""One connection to one NATS system: link, routes, conversations, time. It knows no JetStream word."""
