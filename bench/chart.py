# SPDX-License-Identifier: Apache-2.0
"""Ratios as horizontal bars on a logarithmic axis, as SVG."""
import html
import math

ROW, LABELS, WIDTH, TOP = 14, 210, 560, 40
FASTER, SLOWER, GRID, TEXT = "#3b7dd8", "#d8703b", "#d0d0d0", "#333333"


def ticks(low, high):
    return [10.0**e * m for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in (1, 2, 5) if low <= 10.0**e * m <= high]


def draw(bars, title):
    """bars: [(ratio, name)], in order from the top down; those above 1 grow to the right."""
    low = min(0.5, *(ratio for ratio, _ in bars)) / 1.05
    high = max(2.0, *(ratio for ratio, _ in bars)) * 1.05

    def x(ratio):
        return LABELS + WIDTH * math.log(ratio / low) / math.log(high / low)

    height = TOP + ROW * len(bars) + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABELS + WIDTH + 60}" '
             f'height="{height}" font-family="sans-serif" font-size="10" fill="{TEXT}">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{LABELS}" y="14" font-size="12">{html.escape(title)}</text>']
    for tick in ticks(low, high):
        lines.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{height - 6}" '
                     f'stroke="{TEXT if tick == 1 else GRID}"/>'
                     f'<text x="{x(tick):.1f}" y="{TOP - 10}" text-anchor="middle">{tick:g}</text>')
    for row, (ratio, name) in enumerate(bars):
        y, ends = TOP + ROW * row, sorted((x(1), x(ratio)))
        lines.append(
            f'<text x="{LABELS - 6}" y="{y + 10}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect x="{ends[0]:.1f}" y="{y + 2}" width="{max(ends[1] - ends[0], 0.5):.1f}" '
            f'height="{ROW - 4}" fill="{FASTER if ratio >= 1 else SLOWER}"/>'
            f'<text x="{ends[1] + 3:.1f}" y="{y + 10}">{ratio:.2g}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
