# SPDX-License-Identifier: Apache-2.0
"""Which directory may include which: the table, and the rule that holds the tree to it.

A directory that is not in the table is a finding, so a new one has to say where it stands.
"""

import re

from .tree import Finding, line_of

# A directory: those below it that it may include, directly. Every directory may include itself and
# the public headers. The most specific directory that contains a file is the one that counts.
BASE = ("src/core", "src/runtime")
LEASES = (*BASE, "src/command", "src/lease")
LIBRARY = (*LEASES, "src/lease/commands", "src/lease/ordered", "src/lease/quorum",
           "src/lease/sessions", "src/lease/tables", "src/cache", "src/driver/etcd",
           "src/driver/memory", "src/driver/mysql", "src/driver/postgresql", "src/driver/redis",
           "src/driver/sqlite", "src/driver/zookeeper", "src/keyed", "src/lock", "src/net",
           "src/open", "src/process", "src/push", "src/resp", "src/tasks", "src/traffic")
LAYERS = {
    "include": (),
    "src/core": (),
    "src/runtime": ("src/core",),
    "src/command": BASE,
    "src/lease": BASE,  # what several ways to keep leases share
    "src/lease/commands": LEASES,
    "src/lease/quorum": LEASES,
    "src/lease/sessions": (*LEASES, "src/lease/tables"),
    "src/lease/tables": LEASES,
    "src/lease/ordered": BASE,
    "src/driver/etcd": (*BASE, "src/driver/memory", "src/keyed", "src/lease/ordered"),
    "src/driver/zookeeper": (*BASE, "src/lease/ordered"),
    "src/driver/memory": BASE,
    "src/driver/redis": BASE,
    "src/driver/sqlite": (*BASE, "src/driver/memory", "src/keyed", "src/lease/tables"),
    "src/driver/postgresql": (*BASE, "src/lease/sessions", "src/lease/tables"),
    "src/driver/mysql": (*BASE, "src/lease/sessions", "src/lease/tables"),
    "src/keyed": (*BASE, "src/driver/memory"),
    "src/resp": (*BASE, "src/driver/memory", "src/process"),
    "src/lock": BASE,
    "src/net": BASE,
    "src/traffic": (*BASE, "src/command"),
    "src/cache": (*BASE, "src/command"),
    "src/push": (*BASE, "src/command"),
    "src/tasks": (*BASE, "src/lease/tables"),
    "src/process": (*BASE, "src/lock"),
    "src/open": LIBRARY,
    "apps/holdfast": LIBRARY,
    "sim": LIBRARY,
    "fuzz": (*LIBRARY, "apps/holdfast"),
}

# Headers of other projects, by how their names begin: the only directories that may include them.
# What is not listed may be included anywhere outside of include/, which a rule of its own keeps.
OUTSIDE = {
    "boost/asio": ("include", "apps/holdfast", "src/net"),
    "boost/beast": ("apps/holdfast", "src/net"),
    "boost/json": ("include", "apps/holdfast"),
    "boost/": ("src/driver/memory",),
    "CLI/": ("apps/holdfast", "sim"),
    "grpcpp/": ("src/driver/etcd",),
    "hiredis/": ("src/driver/redis", "apps/holdfast", "fuzz"),
    "libpq-fe.h": ("src/driver/postgresql", "apps/holdfast"),
    "mysql.h": ("src/driver/mysql", "apps/holdfast"),
    "lauxlib.h": ("src/driver/memory",),
    "lua.h": ("src/driver/memory",),
    "lualib.h": ("src/driver/memory",),
    "luajit": ("src/driver/memory",),
    "openssl/": ("src/driver/redis", "src/net"),
    "zookeeper/": ("src/driver/zookeeper", "apps/holdfast"),
    "sqlite3.h": ("src/driver/sqlite", "apps/holdfast"),
}

# Where the compiler looks for "a/b.hpp", in turn.
SEARCH = ("src/", "apps/holdfast/", "sim/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def layer_of(path):
    """The most specific directory of the table that contains the file; None if there is none."""
    inside = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(inside, key=len, default=None)


def target_of(name, paths):
    """The file of ours that an include names; None if it is another project's, or generated."""
    if name.startswith("holdfast/"):
        return "include/" + name
    return next((base + name for base in SEARCH if base + name in paths), None)


def layers(tree):
    """A directory includes only what the table in tools/style/layers.py allows it."""
    paths = {file.path for file in tree.files}
    top = {layer.split("/")[0] for layer in LAYERS}
    for file in tree.of("cpp"):
        if file.path.split("/")[0] not in top:
            continue
        layer = layer_of(file.path)
        if layer is None:
            yield Finding(file.path, 1, "layers", "its directory is not in tools/style/layers.py")
            continue
        for found in INCLUDE.finditer(file.text):
            line = line_of(file.text, found.start(1))
            wrong = objection(layer, found[1], target_of(found[1], paths))
            if wrong and not file.waived(line, "layers"):
                yield Finding(file.path, line, "layers", wrong)


def objection(layer, name, target):
    if target is None:
        prefix = next((prefix for prefix in OUTSIDE if name.startswith(prefix)), None)
        if prefix and layer not in OUTSIDE[prefix]:
            return f"{layer} may not include <{name}>: {', '.join(OUTSIDE[prefix])} may"
        return None
    other = layer_of(target)
    if other in (layer, "include") or other in LAYERS[layer]:
        return None
    return f"{layer} may not include {target}"
