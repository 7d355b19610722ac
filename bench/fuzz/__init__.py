"""Random scenarios through the engine: what no result may contradict, whatever the scenario. Broken files through their readers."""
