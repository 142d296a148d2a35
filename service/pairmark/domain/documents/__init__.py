"""The documents: frozen, strict pydantic models, the source of truth of every format; schemas are generated from them."""
