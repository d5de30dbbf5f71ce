"""Learning: the network with its gradients, in numpy; a step; a checkpoint; and the weight file that comes out.

rows -> scores -> loss -> gradients, passed straight through the rounding -> AdamW -> integers of the engine
May import: kernel, model; numpy, inside functions only. Never runs when a verdict is reached.
"""
