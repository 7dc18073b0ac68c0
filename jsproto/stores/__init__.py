"""Key-value, objects and services: views and procedures over JetStream. Nothing stands here yet."""
