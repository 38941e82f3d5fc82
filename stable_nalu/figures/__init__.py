"""Figures and tables of the papers, drawn from exported CSV files.

An entry (`entries/`) says which files a figure reads, how runs become points and what is drawn; a
kind (`kinds/`) draws it. Reading and reducing is in `runs`, order of models in `order`,
colours and markers in `style`. Statistics come from `stable_nalu.statistics`. Nothing here reads
event files; matplotlib is imported by what draws, when it draws.
"""
