"""What measures flows of messages fairly on a machine that others use too: ``aeronpy bench``, and the suite's tools."""
