# SPDX-License-Identifier: Apache-2.0
"""The repository as the style rules see it: text files, and C++ without comments and strings."""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPP = {".hpp", ".cpp", ".h", ".cc"}
BINARY = {".png", ".jpg", ".gif", ".ico", ".svgz", ".woff2", ".pdf", ".gz"}
UNTRACKED_DIRECTORIES = {"build", "node_modules", ".git", ".cache", "__pycache__"}


@dataclass(frozen=True)
class Finding:
    """What a rule complains of, and what to do about it."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text} [{self.rule}]"


class File:
    """One text file; `path` is relative to the root, with slashes."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = Path(path).suffix
        self.name = Path(path).name

    @property
    def language(self):
        """cpp, lua, python, shell, markdown, cmake, or None: judged by suffix, else by #! line."""
        if self.suffix in CPP:
            return "cpp"
        if self.name == "CMakeLists.txt":
            return "cmake"
        known = {".lua": "lua", ".py": "python", ".sh": "shell", ".md": "markdown",
                 ".cmake": "cmake"}
        if self.suffix in known:
            return known[self.suffix]
        if self.lines[0].startswith("#!"):
            return "python" if "python" in self.lines[0] else "shell"
        return None

    @functools.cached_property
    def code(self):
        """C++ with comments and the insides of literals blanked; lines keep their numbers."""
        return blank_cpp(self.text)

    def waived(self, line, rule):
        """Does this line, or the one above it, say why the rule does not hold here?"""
        for near in (line - 1, line - 2):
            if 0 <= near < len(self.lines):
                if re.search(rf"style: allow {rule}, because \w+", self.lines[near]):
                    return True
        return False


class Tree:
    """All text files below a root that are, or could become, part of the repository."""

    def __init__(self, root):
        self.root = Path(root)
        self.files = []
        for path in sorted(list_paths(self.root)):
            if Path(path).suffix in BINARY:
                continue
            try:
                text = (self.root / path).read_text(encoding="utf-8")
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue
            self.files.append(File(path, text))

    def of(self, *languages):
        return [f for f in self.files if f.language in languages]

    def get(self, path):
        return next((f for f in self.files if f.path == path), None)


def list_paths(root):
    """What git knows or would take; what lies there, if git is of no help (an unpacked archive)."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists() and shutil.which("git"):
        asked = subprocess.run(git, check=False, capture_output=True, text=True)
        if asked.returncode == 0:
            return {name for name in asked.stdout.split("\0") if name}
    found = set()
    for directory, below, names in os.walk(root):
        below[:] = [d for d in below if d not in UNTRACKED_DIRECTORIES]
        found |= {str((Path(directory) / n).relative_to(root)) for n in names}
    return found


LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/'                       # comments
    r'|R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"'  # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                     # strings
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",    # characters, but no digit separators
    re.DOTALL)


def blank_cpp(text):
    def blank(match):
        found = match.group()
        if text.startswith("#include", text.rfind("\n", 0, match.start()) + 1):
            return found
        return re.sub(r"[^\n]", " ", found)
    return LITERALS.sub(blank, text)


NOT_A_FUNCTION = re.compile(
    r"\b(namespace|class|struct|union|enum|concept)\b[^()]*$"  # a scope
    r"|=[^=()]*\(|=\s*$")                                      # an initialiser


def cpp_functions(code):
    """(first line, last line) of each outermost function body, by braces.

    A brace opens a function when its head has a parenthesis and is no initialiser and no class.
    Lambdas and blocks inside belong to the function around them.
    """
    found = []
    depth_of_function = None
    depth = 0
    start = 0
    opened_at = 0
    for match in re.finditer(r"[{};]", code):
        mark = match.group()
        if mark == "{":
            if depth_of_function is None:
                head = code[start:match.start()]
                head = re.sub(r"^\s*#.*$", "", head, flags=re.MULTILINE)
                head = re.sub(r"operator\s*[^\s(]+", "operator", head)
                head = re.sub(r"template\s*<[^{;]*>\s*(?=\S)", "", head)
                if "(" in head and not NOT_A_FUNCTION.search(head):
                    depth_of_function = depth
                    opened_at = start + len(code[start:]) - len(code[start:].lstrip())
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth_of_function is not None and depth == depth_of_function:
                depth_of_function = None
                if re.match(r"\s*[{,]", code[match.end():match.end() + 200]):
                    continue  # that was `member_{value}` before a constructor's body
                found.append((line_of(code, opened_at), line_of(code, match.start())))
        if depth_of_function is None:
            start = match.end()
    return found


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
