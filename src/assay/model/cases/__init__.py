"""Cases: rules and records of every kind, drawn from a seed, as plain JSON.

source of draws -> numbers, measurements, obligations, exemptions -> a case
May import: kernel, model. What a case comes to is for the verdicts room to say.
"""
