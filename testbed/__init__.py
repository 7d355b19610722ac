"""The measurements of TCPBP's testbed, live, and their page: ``make testbed``.

``paper.py`` has the paper's network and tests, ``page.py`` the page, ``__main__.py`` runs both. The live network is
:mod:`anabranch.engines.openflow`; :mod:`anabranch.studies.testbed` measures on it, as ``anabranch testbed`` does with any network.
"""
