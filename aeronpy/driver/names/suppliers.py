"""Which resolver a driver has (spec: client/driver protocol, 23.6)."""

from __future__ import annotations

from aeronpy._core.native import DriverCore
from aeronpy.driver.names.resolver import NameResolver, SystemResolver
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import ArgumentError


def supply(context: MediaDriverContext, core: DriverCore) -> NameResolver:
    """The resolver that ``aeron.name.resolver.supplier`` names; ArgumentError where there is none of that name.

    A resolver interface asks for gossip by itself, as with the Java driver.
    ``module:function`` is a plug-in: the function is called with ``aeron.name.resolver.init.args`` and returns a
    `NameResolver`.
    """
    supplier = context.name_resolver_supplier
    if supplier == "driver" or (supplier == "default" and context.resolver_interface):
        from aeronpy.driver.names.gossip import GossipResolver

        return GossipResolver(context, core)
    if supplier == "csv_table":
        from aeronpy.driver.names.csv_table import CsvTableResolver

        table = context.name_resolver_csv_lookup_table_args or context.name_resolver_init_args
        return CsvTableResolver(table, core)
    if supplier == "default":
        return SystemResolver()
    return _plugin(supplier, context.name_resolver_init_args)


def _plugin(supplier: str, arguments: str) -> NameResolver:
    module, _, function = supplier.partition(":")
    import importlib

    try:
        resolver = getattr(importlib.import_module(module), function)(arguments)
    except (ImportError, AttributeError) as error:
        raise ArgumentError(f"name_resolver_supplier is {supplier!r}, and cannot be loaded: {error}") from error
    if not isinstance(resolver, NameResolver):
        raise ArgumentError(f"name_resolver_supplier {supplier!r} made {resolver!r}, which is no NameResolver")
    return resolver
