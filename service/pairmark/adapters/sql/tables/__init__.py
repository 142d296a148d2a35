"""The repositories, one file for each part of the database."""
