"""Contracts and stand-ins for those who write stores, bridges and models; needs no test framework."""
