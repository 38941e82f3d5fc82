"""Figures and tables of the papers, drawn from exported CSV files or from runs that are kept.

A figure (`stable_nalu.paper.experiment`) says which files it reads, how runs become points and what
is drawn; each of its parts is made by a function, which `drawing.kind` marks. `runs` reads and
reduces, `style` is what all of them draw with, `entries` finds and writes. Statistics come from
`stable_nalu.statistics`. Nothing here reads event files; matplotlib is imported by what draws, when
it draws.
"""
