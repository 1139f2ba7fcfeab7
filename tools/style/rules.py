# SPDX-License-Identifier: Apache-2.0
"""The style rules. Each is a generator over the tree; its docstring is what it demands.

A line may be excused with `style: allow <rule>, because …` on it or above it, a long file with
`style: long file, because …`, a long function with `style: long function, because …` inside it.
"""

import re
import shutil
import subprocess
from pathlib import Path
from pathlib import PurePosixPath

from .layers import layers
from .tree import Finding, cpp_functions, line_of

HEADER_LINES = 250
SOURCE_LINES = 450
FUNCTION_LINES = 70
LINE_CHARACTERS = 100

# Only here may the machine's clock and its randomness be touched …
RUNTIME = ("src/runtime/",)
# … except that what measures or drives real servers needs real time.
REAL_TIME = ("apps/holdfast/commands/bench/", "test/differential/", "test/support/")

CLOCKS = (r"\bclock_gettime\b|\bsystem_clock::now\b|\bhigh_resolution_clock\b|\bgettimeofday\b"
          r"|\btime\s*\(\s*(nullptr|NULL|0)\s*\)")
REAL_CLOCKS = r"\bsteady_clock::now\b|\bsleep_for\b|\bsleep_until\b|\busleep\b|\bnanosleep\b"
CHANCE = r"\bs?rand\s*\(|\bmt19937(_64)?\b|\brandom_device\b|\bdefault_random_engine\b"

VAGUE_STEMS = {"util", "utils", "common", "helper", "helpers", "misc"}
UNFINISHED = r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"
# Paths of one machine; in tests and tools a temporary directory is legitimate.
MACHINE_PATH = r"(?<![\w.}/$])/(work|root|home)(/|\b(?![-\w]))"
TEMPORARY_PATH = r"(?<![\w.}/$])/tm" r"p\b"
TEMPORARY_ALLOWED = ("test/", "tools/", ".ci/")

STANDARD_HEADER = re.compile(r"<([a-z_0-9]+|holdfast/[\w./]+)>")


def starts_with(path, prefixes):
    return any(path.startswith(p) for p in prefixes)


def matches(file, pattern, text, rule, message):
    for found in re.finditer(pattern, text):
        line = line_of(text, found.start())
        if not file.waived(line, rule):
            yield Finding(file.path, line, rule, f"'{found.group().strip()}': {message}")


def file_size(tree):
    """A header has at most 250 lines, a source 450."""
    for file in tree.of("cpp", "lua", "python", "shell"):
        limit = HEADER_LINES if file.suffix in (".hpp", ".h") else SOURCE_LINES
        count = len(file.lines) - 1
        if count > limit and not re.search(r"style: long file, because \w+", file.text):
            yield Finding(file.path, 1, "file_size", f"{count} lines: at most {limit}, split it")


def function_size(tree):
    """A function has at most 70 lines."""
    for file in tree.of("cpp"):
        for first, last in cpp_functions(file.code):
            body = "\n".join(file.lines[first - 1:last])
            if last - first + 1 > FUNCTION_LINES and "style: long function, because " not in body:
                yield Finding(file.path, first, "function_size",
                              f"function of {last - first + 1} lines: at most {FUNCTION_LINES}")


def line_length(tree):
    """A line has at most 100 characters."""
    for file in tree.of("cpp", "lua", "python", "shell"):
        for number, line in enumerate(file.lines, 1):
            if len(line) > LINE_CHARACTERS and not file.waived(number, "line_length"):
                yield Finding(file.path, number, "line_length",
                              f"{len(line)} characters: at most {LINE_CHARACTERS}")


def clock(tree):
    """Time is an argument: only src/runtime/ reads a clock or sleeps."""
    for file in tree.of("cpp"):
        if starts_with(file.path, RUNTIME):
            continue
        advice = "take a holdfast::clock&"
        yield from matches(file, CLOCKS, file.code, "clock", advice)
        if not starts_with(file.path, REAL_TIME):
            yield from matches(file, REAL_CLOCKS, file.code, "clock", advice)


def chance(tree):
    """Randomness is an argument: only src/runtime/ draws it."""
    for file in tree.of("cpp"):
        if not starts_with(file.path, RUNTIME):
            yield from matches(file, CHANCE, file.code, "chance", "take a holdfast::entropy&")


def vague_name(tree):
    """A file is called after its idea: no utils, common, helpers, misc."""
    for file in tree.files:
        if file.name.split(".")[0].lower() in VAGUE_STEMS:
            yield Finding(file.path, 1, "vague_name", "name the file after its one idea")


def dead_file(tree):
    """Every source and public header is in a CMakeLists.txt; every other header is included."""
    cmake = [(PurePosixPath(f.path).parent, f.text) for f in tree.of("cmake")]
    included = {name for f in tree.of("cpp") for name in
                re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', f.text, re.MULTILINE)}
    for file in tree.of("cpp", "lua"):
        path = PurePosixPath(file.path)
        listed = any(re.search(rf"(?<![\w.-]){re.escape(str(path.relative_to(where)))}(?![\w.-])",
                               text) for where, text in cmake if path.is_relative_to(where))
        is_private_header = file.suffix in (".hpp", ".h") and path.parts[0] != "include"
        if is_private_header:
            listed = listed or any(file.path == name or file.path.endswith("/" + name)
                                   for name in included)
        if not listed:
            yield Finding(file.path, 1, "dead_file", "in no CMakeLists.txt: list or delete it")


def licence(tree):
    """The SPDX line is among the first three lines."""
    for file in tree.of("cpp", "lua", "python", "shell"):
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in file.lines[:3]):
            yield Finding(file.path, 1, "licence", "no SPDX-License-Identifier: Apache-2.0")


def pragma_once(tree):
    """A header says #pragma once."""
    for file in tree.of("cpp"):
        if file.suffix in (".hpp", ".h") and "#pragma once" not in file.lines:
            yield Finding(file.path, 1, "pragma_once", "no #pragma once")


def leaked_include(tree):
    """A public header includes the standard's and our own headers only.

    asio*.hpp are for Asio, json*.hpp for Boost.JSON."""
    for file in tree.of("cpp"):
        if not file.path.startswith("include/holdfast/") or file.name.startswith(("asio", "json")):
            continue
        for number, line in enumerate(file.lines, 1):
            found = re.match(r"\s*#\s*include\s*(\S+)", line)
            if found and not STANDARD_HEADER.fullmatch(found.group(1)):
                yield Finding(file.path, number, "leaked_include",
                              f"{found.group(1)} leaks out of the public headers")


def error_page(tree):
    """docs/reference/errors.md has a heading for every errc."""
    header = tree.get("include/holdfast/error.hpp")
    if header is None:
        return
    body = re.search(r"enum class errc[^{]*\{(.*?)\}", header.code, re.DOTALL)
    codes = re.findall(r"^\s*(\w+)\s*(?:=\s*\w+\s*)?(?:,|$)", body.group(1), re.MULTILINE)
    page = tree.get("docs/reference/errors.md")
    written = set(re.findall(r"^#+ `(\w+)`$", page.text, re.MULTILINE)) if page else set()
    for code in codes:
        if code not in written:
            yield Finding("docs/reference/errors.md", 1, "error_page", f"no heading for `{code}`")
    for code in sorted(written - set(codes)):
        yield Finding("docs/reference/errors.md", 1, "error_page", f"`{code}` is no errc")


def unfinished(tree):
    """Nothing is left for later in a comment."""
    for file in tree.files:
        yield from matches(file, UNFINISHED, file.text, "unfinished", "do it, or leave it out")


def machine_path(tree):
    """No path of one machine."""
    for file in tree.files:
        yield from matches(file, MACHINE_PATH, file.text, "machine_path", "a path of one machine")
        if not starts_with(file.path, TEMPORARY_ALLOWED):
            yield from matches(file, TEMPORARY_PATH, file.text, "machine_path",
                               "a path of one machine")


def dead_link(tree):
    """Every relative link in a Markdown file resolves, its heading too."""
    for file in tree.of("markdown"):
        prose = without_code(file.text)
        for found in re.finditer(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", prose):
            link = found.group(1)
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            where, _, heading = link.partition("#")
            target = (tree.root / file.path).parent / where if where else tree.root / file.path
            broken = not target.exists()
            if not broken and heading and target.suffix == ".md":
                broken = heading not in headings(target.read_text(encoding="utf-8"))
            if broken:
                yield Finding(file.path, line_of(prose, found.start()), "dead_link",
                              f"{link} leads nowhere")


def without_code(markdown):
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"^```.*?^```|`[^`\n]*`", blank, markdown, flags=re.DOTALL | re.MULTILINE)


def headings(markdown):
    """The anchors that GitHub gives to the headings."""
    titles = re.findall(r"^#+ +(.*?)\s*$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def trailing_space(tree):
    """No line ends in a blank; a file ends with one newline."""
    for file in tree.files:
        if file.path.startswith("fuzz/corpus/"):
            continue  # bytes as a fuzzer found them
        for number, line in enumerate(file.lines, 1):
            if line != line.rstrip():
                yield Finding(file.path, number, "trailing_space", "blanks at the end of the line")
        if file.text and (not file.text.endswith("\n") or file.text.endswith("\n\n")):
            yield Finding(file.path, len(file.lines), "trailing_space", "must end with one newline")


def hidden_example(tree):
    """Every example is named in a README."""
    readmes = [f.text for f in (tree.get("README.md"), tree.get("examples/README.md")) if f]
    for file in tree.of("cpp"):
        if not file.path.startswith("examples/") or file.suffix != ".cpp":
            continue
        name = file.path.removeprefix("examples/")
        if not any(re.search(rf"\b{re.escape(name)}\b", text) for text in readmes):
            yield Finding(file.path, 1, "hidden_example", "name it in examples/README.md")


def lua(tree):
    """luacheck has nothing to say, of each script as a server gets it: with what it includes."""
    luacheck = shutil.which("luacheck")
    if not luacheck:
        return
    include = re.compile(r"^--@include (\S+)$", re.MULTILINE)
    texts = {f.path: "\n".join(f.lines) + "\n" for f in tree.of("lua")}
    parts = {str(Path(path).parent / name) for path, text in texts.items()
             for name in include.findall(text)}
    for path, text in texts.items():
        if path in parts:
            continue
        whole = include.sub(lambda found, path=path: texts.get(
            str(Path(path).parent / found[1]), "").rstrip("\n"), text)
        done = subprocess.run([luacheck, "--formatter", "plain", "--codes", "-"], input=whole,
                              cwd=tree.root, capture_output=True, text=True, check=False)
        for line in (done.stdout + done.stderr).splitlines():
            found = re.match(r"(.+?):(\d+):\d+: (.*)", line)
            if found:
                yield Finding(path, int(found[2]), "lua", f"{found[3]} (line with its includes)")
        if done.returncode > 2:
            yield Finding(path, 1, "lua", f"luacheck failed: {done.stdout}{done.stderr}")


RULES = (file_size, function_size, line_length, clock, chance, vague_name, layers, dead_file,
         licence, pragma_once, leaked_include, error_page, unfinished, machine_path, dead_link,
         trailing_space, hidden_example, lua)
