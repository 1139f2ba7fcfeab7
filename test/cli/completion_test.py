#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shells complete: a real bash and a real zsh, with somebody who types."""

import re

import ground
from ground import Case, Terminal, holdfast

PROMPT = "ready> "


class Shell:
    """A shell that has read nothing of the user's, and one who presses the tabulator."""

    def __init__(self, terminal, *lines):
        self.terminal = terminal
        self.presses = 0
        for line in (*lines, f"PS1='{PROMPT}'"):
            terminal.type(line + "\n")
        terminal.read_until(lambda text: "\n" + PROMPT in plain(text), "the prompt comes")

    def press(self, line, expected, tabs=2):
        """Types the line and tabulators; what is shown must become as expected."""
        self.terminal.text = ""
        self.terminal.type(line + "\t" * tabs)
        self.terminal.read_until(expected, f"completing {line!r}")
        # Away with the line; when the next answer comes the shell has read all of it.
        self.presses += 1
        self.terminal.type(f"\x15echo over-$(({self.presses} + 0))\n")
        end = f"\nover-{self.presses}\n{PROMPT}"
        self.terminal.read_until(lambda text: end in plain(text), "the line is gone")

    def close(self):
        self.terminal.type("\x15exit\n")
        self.terminal.end()


def plain(text, gap=""):
    """Without what moves the cursor and paints."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x07", gap, text).replace("\r", "")


def line_with(part):
    return lambda text: part in plain(text)


def list_of(*words):
    return lambda text: all(word in plain(text, " ").split() for word in words)


class Completion(Case):
    def bash(self):
        file = self.directory() / "holdfast.bash"
        file.write_text(holdfast("completion", "bash").stdout)
        shell = Shell(Terminal("--norc", "--noprofile", "-i", program="bash", INPUTRC="/dev/null"),
                      "bind 'set enable-bracketed-paste off'", f"source {file}")
        self.addCleanup(shell.close)
        return shell

    def zsh(self):
        place = self.directory()
        (place / "_holdfast").write_text(holdfast("completion", "zsh").stdout)
        shell = Shell(Terminal("-f", "-i", program="zsh", ZDOTDIR=str(place)),
                      "unsetopt zle_bracketed_paste prompt_sp 2>/dev/null",
                      f"fpath=({place} $fpath)",
                      f"autoload -U compinit && compinit -u -d {place}/dump",
                      "zstyle ':completion:*' verbose no")
        self.addCleanup(shell.close)
        return shell

    def check(self, shell):
        shell.press("holdfast doc", line_with("holdfast doctor "))
        shell.press("holdfast help doc", line_with("holdfast help doctor "))
        shell.press("holdfast help lock ev", line_with("holdfast help lock evict "))
        shell.press("holdfast lock ", list_of("ls", "show", "watch", "evict", "wait"))
        shell.press("holdfast lock ev", line_with("holdfast lock evict "))
        shell.press("holdfast run backup --se", line_with("run backup --semaphore "), tabs=1)
        shell.press("holdfast lock ls --fo", line_with("lock ls --format "), tabs=1)
        shell.press("holdfast lock ls --format ", list_of("text", "json"))
        shell.press("holdfast bench locks --kind sem", line_with("--kind semaphore"))
        shell.press("holdfast run --shared backup --wa", line_with("backup --wait"))
        shell.press("holdfast run backup -- basena", line_with("-- basename "))

    def test_bash_completes_what_is_typed(self):
        self.check(self.bash())

    def test_zsh_completes_what_is_typed(self):
        self.check(self.zsh())


if __name__ == "__main__":
    ground.main()
