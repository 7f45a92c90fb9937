"""What a driver does, in lines for people."""
