"""The media driver."""

from aeronpy.driver.context import MediaDriverContext, ThreadingMode
from aeronpy.driver.media_driver import MediaDriver

__all__ = ["MediaDriver", "MediaDriverContext", "ThreadingMode"]
