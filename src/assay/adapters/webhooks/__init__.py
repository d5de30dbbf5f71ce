"""Webhooks: events are posted to addresses that strangers named, and nowhere inside.

URL -> look-up -> every address outside, or the host allowed -> one connection to the checked address -> status
"""
