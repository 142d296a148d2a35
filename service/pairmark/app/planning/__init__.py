"""Planning an evaluation before it is paid for."""
