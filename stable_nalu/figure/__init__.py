"""Figures and tables of the papers, drawn from exported CSV files or from runs that are kept.

An entry (`entries/`) says which files a figure reads, how runs become points and what is drawn; a
kind (`kinds/`) draws it. `runs` reads and reduces, `style` holds labels, colours and markers,
`render` writes. Statistics come from `stable_nalu.statistics`. Nothing here reads event files;
matplotlib is imported by what draws, when it draws.
"""
