"""`jsproto demo`: the ORDERS story on a real nats-server, with each adapter."""
