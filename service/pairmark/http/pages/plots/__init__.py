"""Plots: where things stand on a drawing surface. Templates draw them as SVG, with attributes and classes only."""
