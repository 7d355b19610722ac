"""Five papers, reproduced: ``anabranch paper NAME``.

A folder for each paper holds its published numbers, its scenarios, how it was read, and its study, a package: which scenarios
are run, and what is found in their results. ``lab.py`` runs a study, ``readme.py`` and ``page.py`` write it up.
"""
