"""Aeron for Python, whole: transport, media driver, archive and analytics, without a JVM."""

__version__ = "0.1.0"
