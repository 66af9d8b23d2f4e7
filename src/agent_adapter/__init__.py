"""Durable tool calls for agents: a finished call is answered from the record and never runs a second time."""
