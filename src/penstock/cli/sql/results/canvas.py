"""A picture of lines, drawn with the dots of Braille characters: two columns and four rows of dots per character."""

from __future__ import annotations

from rich.text import Text

_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column of a character


class Canvas:
    """Dots by their place, from the upper left corner. A character has the style of the last line through it.

    >>> canvas = Canvas(4, 2)
    >>> canvas.line(0, 7, 7, 0)
    >>> [line.plain for line in canvas.lines()]
    ['⠀⠀⡠⠊', '⡠⠊⠀⠀']
    """

    def __init__(self, width: int, height: int) -> None:
        self.dots_wide, self.dots_high = width * 2, height * 4
        self._cells = [[0] * width for _ in range(height)]
        self._styles = [[""] * width for _ in range(height)]

    def dot(self, x: int, y: int, style: str = "") -> None:
        """Draws one dot."""
        if 0 <= x < self.dots_wide and 0 <= y < self.dots_high:
            self._cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            self._styles[y // 4][x // 2] = style

    def line(self, x: int, y: int, end_x: int, end_y: int, style: str = "") -> None:
        """Draws a straight line."""
        steps = max(abs(end_x - x), abs(end_y - y), 1)
        for step in range(steps + 1):
            self.dot(round(x + (end_x - x) * step / steps), round(y + (end_y - y) * step / steps), style)

    def lines(self) -> list[Text]:
        """The picture, from top to bottom."""
        found = []
        for cells, styles in zip(self._cells, self._styles, strict=True):
            line = Text()
            for cell, style in zip(cells, styles, strict=True):
                line.append(chr(_BLANK + cell), style=style)
            found.append(line)
        return found
