"""What is sent: publications of every kind, where they send to, whom they wait for."""
