"""Rows taken apart, equal components merged and written as index arrays: what an E step needs."""
