"""The media driver."""

from aeronpy.driver.media_driver import MediaDriver
from aeronpy.driver.settings.context import MediaDriverContext, ThreadingMode

__all__ = ["MediaDriver", "MediaDriverContext", "ThreadingMode"]
