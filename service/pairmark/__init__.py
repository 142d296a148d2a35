"""Pairmark certifies utility under attack: paired, delivered, comparable results of agent prompt-injection benchmarks."""

__version__ = "0.1.0"
