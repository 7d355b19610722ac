"""Random scenarios through the engine, whose results must keep invariants of every scenario. Broken files through their readers."""
