# SPDX-License-Identifier: Apache-2.0
"""Proves that every rule fires: for each, a tiny tree that breaks it and one that does not."""

import shutil
import tempfile
from pathlib import Path

from . import rules
from .tree import Tree

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
CODES = "enum class errc {\n    busy = 1,\n    lost,\n};\n"


def body(lines):
    return SPDX + "int f(int x) {\n" + "    ++x;\n" * (lines - 3) + "    return x;\n}\n"


def table(lines):
    return SPDX + "constexpr int t[] = {\n" + "    1,\n" * (lines - 2) + "};\n"


# rule: (files that break it, files that do not). Each bad tree must give exactly one finding.
CASES = {
    "file_size": [
        ({"include/a.hpp": "//\n" * 251}, {"include/a.hpp": "//\n" * 250}),
        ({"src/a.cpp": "//\n" * 451},
         {"src/a.cpp": "// style: long file, because it is a table\n" + "//\n" * 451}),
    ],
    "function_size": [
        ({"src/a.cpp": body(71)}, {"src/a.cpp": body(70)}),
        ({"src/a.cpp": "struct s {\n" + body(71) + "};\n"}, {"src/a.cpp": table(200)}),
        ({"src/a.cpp": "a::a(int x) : x_{x} {\n" + "    ++x;\n" * 80 + "}\n"},
         {"src/a.cpp": "class a : b<c> {\n" + "    int f() { return 1; }\n" * 80 + "};\n"}),
        ({"src/a.cpp": "TEST(a, b) {\n" + "    { g(); }\n" * 80 + "}\n"},
         {"src/a.cpp": "void f() {\n    // style: long function, because flat\n" + "    g();\n" * 80
          + "}\n"}),
    ],
    "line_length": [({"a.lua": "x" * 101 + "\n"}, {"a.lua": "é" * 100 + "\n"})],
    "clock": [
        ({"src/lock/a.cpp": "auto t = std::chrono::steady_clock::now();\n"},
         {"apps/holdfast/commands/bench/a.cpp": "auto t = std::chrono::steady_clock::now();\n",
          "src/runtime/b.cpp": "clock_gettime(id, &t);\n",
          "src/core/c.cpp": "// std::chrono::steady_clock::now()\nauto s = \"sleep_for\";\n"}),
        ({"test/unit/a.cpp": "std::this_thread::sleep_for(1s);\n"},
         {"src/a.cpp": "nanosleep(a, b);  // style: allow clock, because a signal handler\n"}),
        ({"apps/holdfast/commands/bench/a.cpp": "auto t = time(nullptr);\n"},
         {"src/a.cpp": "auto t = engine.time();\n"}),
        ({"src/a.cpp": "int n = 1'000; auto t = std::chrono::system_clock::now();\n"},
         {"src/a.cpp": "auto s = R\"(clock_gettime \" )\";\n"}),
    ],
    "chance": [
        ({"src/a.cpp": "std::mt19937 g;\n"}, {"src/runtime/a.cpp": "std::random_device d;\n"}),
        ({"test/a.cpp": "int x = rand();\n"}, {"test/a.cpp": "int x = operand(1);\n"}),
    ],
    "vague_name": [({"src/utils.hpp": "\n"}, {"src/common_prefix.hpp": "\n"})],
    "layers": [
        ({"src/core/a.cpp": "#include <boost/x.hpp>\n"},
         {"src/driver/memory/a.cpp": "#include <boost/x.hpp>\n",
          "include/holdfast/asio.hpp": "#include <boost/asio/post.hpp>\n"}),
        ({"src/core/a.cpp": "#include \"lock/b.hpp\"\n", "src/lock/b.hpp": "\n"},
         {"src/lock/a.cpp": "#include \"core/b.hpp\"\n#include <holdfast/c.hpp>\n",
          "src/core/b.hpp": "\n"}),
        ({"src/driver/memory/a.cpp": "#include \"lease/tables/b.hpp\"\n",
          "src/lease/tables/b.hpp": "\n"},
         {"src/driver/memory/a.cpp": "#include \"runtime/b.hpp\"\n", "src/runtime/b.hpp": "\n",
          "test/c.cpp": "#include \"runtime/b.hpp\"\n"}),
        ({"src/cellar/a.cpp": "\n"}, {"tools/a.cpp": "\n"}),
        ({"src/lock/a.cpp": "#include \"run.hpp\"\n", "apps/holdfast/run.hpp": "\n"},
         {"apps/holdfast/a.cpp": "#include \"lock/b.hpp\"\n", "src/lock/b.hpp": "\n"}),
    ],
    "dead_file": [
        ({"src/a/CMakeLists.txt": "lib(b.cpp)\n", "src/a/a.cpp": "\n", "src/a/b.cpp": "\n"},
         {"src/a/CMakeLists.txt": "lib(a.cpp)\n", "src/a/a.cpp": "\n"}),
        ({"include/h/a.hpp": "\n", "m.cmake": "include/h/a.hpp.in\n"},
         {"include/CMakeLists.txt": "h/a.hpp\n", "include/h/a.hpp": "\n"}),
        ({"src/a/p.hpp": "#include <q.hpp>\n"},
         {"CMakeLists.txt": "src/b.cpp\n", "src/a/p.hpp": "\n",
          "src/b.cpp": "#include \"a/p.hpp\"\n"}),
    ],
    "licence": [({"tools/x": "#!/bin/sh\n"}, {"tools/x": "#!/bin/sh\n#" + SPDX[2:]})],
    "pragma_once": [({"a.hpp": SPDX}, {"a.hpp": SPDX + "#pragma once\n", "b.cpp": SPDX})],
    "leaked_include": [
        ({"include/holdfast/a.hpp": "#include <fmt/format.h>\n"},
         {"include/holdfast/asio.hpp": "#include <boost/asio.hpp>\n",
          "src/a.hpp": "#include <x.h>\n",
          "include/holdfast/a.hpp": "#include <vector>\n#include <holdfast/error.hpp>\n"}),
    ],
    "error_page": [
        ({"include/holdfast/error.hpp": CODES, "docs/reference/errors.md": "## `busy`\n"},
         {"include/holdfast/error.hpp": CODES,
          "docs/reference/errors.md": "## `busy`\n## `lost`\n"}),
        ({"include/holdfast/error.hpp": CODES,
          "docs/reference/errors.md": "## `busy`\n## `lost`\n## `gone`\n"}, {}),
    ],
    "unfinished": [({"a.md": "TO" "DO: later\n"}, {"a.md": "todos\n"})],
    "machine_path": [
        ({"a.md": "see /wo" "rk/x\n"}, {"a.md": "https://a/work/b a/tmp src/root/x frame/work\n"}),
        ({"src/a.cpp": "open(\"/tm" "p/x\");\n"}, {"test/a.cpp": "open(\"/tm" "p/x\");\n"}),
    ],
    "dead_link": [
        ({"docs/a.md": "[x](../b.md)\n"},
         {"docs/a.md": "[x](../b.md#the-end)\n", "b.md": "# The end\n"}),
        ({"a.md": "[x](#no-such)\n"}, {"a.md": "`[x](no)` [y](https://z)\n```\n[x](no)\n```\n"}),
    ],
    "trailing_space": [({"a.md": "x \n"}, {"a.md": "x\n"}), ({"a.md": "x"}, {"a.md": ""})],
    "hidden_example": [
        ({"examples/a.cpp": "\n", "README.md": "b.cpp\n"},
         {"examples/a.cpp": "\n", "examples/README.md": "`a.cpp`\n"}),
    ],
    "lua": [({"a.lua": "local x\n"}, {"a.lua": "local x = 1\nreturn x\n"})],
}


def findings(rule, files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            target = Path(root) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return list(rule(Tree(root)))


def run():
    wrong = 0
    for rule in rules.RULES:
        name = rule.__name__
        if name == "lua" and not shutil.which("luacheck"):
            print("lua: luacheck is not installed, not proven")
            continue
        if name not in CASES:
            print(f"{name}: no case proves that it fires")
            wrong += 1
        for bad, good in CASES.get(name, []):
            fired = findings(rule, bad)
            if len(fired) != 1:
                print(f"{name}: {len(fired)} findings instead of one for {bad}")
                wrong += 1
            for finding in findings(rule, good):
                print(f"{name}: should be silent, but: {finding}")
                wrong += 1
    cases = sum(len(list_of) for list_of in CASES.values())
    print(f"style self-test: {len(rules.RULES)} rules, {cases} cases, {wrong} wrong")
    return 1 if wrong else 0
