"""Finds, predicts and proves the best way to carry TCP over a network."""
