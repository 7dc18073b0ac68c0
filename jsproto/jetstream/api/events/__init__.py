"""What servers tell by themselves: advisories, metrics, and the answers to monitoring requests."""
