"""Compiled inner loops; the tests check each against a plain implementation."""
