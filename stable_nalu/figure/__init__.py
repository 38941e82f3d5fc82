"""Figures and tables of the papers, drawn from exported CSV files or from runs that are kept.

`context` says what a figure is and reads its files, `runs` reduces them to a row per run, `style`
is what all of them draw with, `entries` draws and writes. Statistics come from
`stable_nalu.statistics`. Nothing here reads event files.
"""
