"""The report for a browser: a page for each file, and an index, in one folder of plain files.

jinja2 and pygments are imported in this package alone; they are the extra ``report``.
"""
