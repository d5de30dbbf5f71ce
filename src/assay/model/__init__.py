"""The model: a tiny language model that judges cases, exact to the bit on every machine.

prompt + grammar -> tokens of the case -> engine, choosing among what the automaton leaves open -> the answer's JSON
May import: kernel; numpy, inside functions only. Must not import: other rooms, ports, adapters, clocks, I/O.
"""
