"""What is read: subscriptions of every kind, the sockets they hear, the images that come in."""
