"""Five papers, reproduced: ``anabranch paper NAME``.

Each paper has a folder, which is a package. It holds the paper's published numbers, its scenarios, our readings of it, and its study.
The study chooses the scenarios and computes findings from their results. ``lab.py`` runs a study, ``readme.py`` and ``page.py`` write it up.
"""
