"""The web pages: the use cases of the API, for people. A page works no number out and shows none that the API does not."""
