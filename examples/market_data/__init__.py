"""Market data from a publisher to a Spark table: ``python -m examples.market_data.run [feed.dbn.zst]``."""
