"""Identity providers: who a signed token is about."""
