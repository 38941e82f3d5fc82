"""One module a kind of drawing: `render(part, context)` reduces, estimates and draws a part.

The functions that draw take axes and tables, and read nothing.
"""
