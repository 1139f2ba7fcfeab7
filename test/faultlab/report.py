# SPDX-License-Identifier: Apache-2.0
"""What the lab found, as a line, a table and a heat map."""

from html import escape

from nemeses import NEMESES

COLUMNS = [
    ("strikes", "strikes"), ("grants", "grants"), ("exclusion_violations", "two holders"),
    ("longest_overlap_ms", "longest overlap, ms"), ("fence_violations", "fences back"),
    ("lost_updates", "lost updates"),
    ("checked", "calls checked"), ("linearizable", "linearizable"), ("given_up", "check given up"),
    ("stuck_at", "no order of"), ("refused_writes", "late writes refused"),
    ("losses", "leases lost"), ("false_losses", "lost without a fault"),
    ("availability", "availability"),
    ("first_grant_after_healing_ms", "first grant after healing, ms"), ("keys_left", "keys left"),
    ("tried", "new names tried"), ("refused", "refused"),
    ("refused_for_ms", "refused for, ms after a promotion")]


def line(row):
    numbers = ", ".join(f"{title} {row[key]}" for key, title in COLUMNS if row.get(key) is not None)
    return f"{row['engine']} | {row['nemesis']}: {numbers}"


def table(rows):
    yield "| engine | fault | " + " | ".join(title for _, title in COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for row in rows:
        mark = " (outside)" if row["outside"] else ""
        cells = " | ".join("-" if row.get(key) is None else str(row[key]) for key, _ in COLUMNS)
        yield f"| {row['engine']} | {row['nemesis']}{mark} | {cells} |"


def heat_map(rows):
    """Engines down, faults across; green: no violation. Availability, and how many if any."""
    engines = list(dict.fromkeys(cell["engine"] for cell in rows))
    struck = {cell["nemesis"] for cell in rows}
    faults = [nemesis.name for nemesis in NEMESES if nemesis.name in struck]
    wide, high, left, top = 62, 34, 150, 120
    width, height = left + wide * len(faults) + 20, top + high * len(engines) + 40
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="12">')
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    for x, fault in enumerate(faults):
        at = left + x * wide + wide / 2
        yield (f'<text transform="translate({at},{top - 8}) rotate(-45)" fill="#222">'
               f'{escape(fault)}</text>')
    for y, engine in enumerate(engines):
        yield (f'<text x="{left - 8}" y="{top + y * high + 21}" text-anchor="end" fill="#222">'
               f'{escape(engine)}</text>')
    for cell in rows:
        bad = cell["exclusion_violations"] + cell["fence_violations"] + cell["lost_updates"]
        shade = "#c9e7cb" if bad == 0 else "#f2b8b5"
        x = left + faults.index(cell["nemesis"]) * wide
        y = top + engines.index(cell["engine"]) * high
        dashes = ' stroke-dasharray="4 3"' if cell["outside"] else ""
        yield (f'<rect x="{x + 1}" y="{y + 1}" width="{wide - 2}" height="{high - 2}" '
               f'fill="{shade}" stroke="#555"{dashes}/>')
        lines = [f'{cell["availability"]:.0%}', *([f"{bad:,}"] if bad else [])]
        for row, said in enumerate(lines):
            at = y + 21 + (row - (len(lines) - 1) / 2) * 13
            yield (f'<text x="{x + wide / 2}" y="{at}" text-anchor="middle" fill="#222">'
                   f'{said}</text>')
    yield (f'<text x="8" y="{height - 12}" fill="#222">availability during the fault, and the '
           'number of violations; dashed: outside the promise</text>')
    yield "</svg>"


def write(rows, directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "faultlab.svg").write_text("\n".join(heat_map(rows)) + "\n", encoding="utf-8")
    (directory / "faultlab.md").write_text("\n".join(table(rows)) + "\n", encoding="utf-8")
