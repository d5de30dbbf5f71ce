"""Identity: who is asking, what they hold, and how they prove it.

principal + credential + secret + time -> finding -> allowed or not
May import: kernel. Must not import: review, rooms, ports, adapters, any clock, any randomness, any I/O.
"""
