"""Inference: general language models inside the perimeter, behind one port.

prompt -> bounded (limits, queue, deadline) -> backend (llama.cpp | OpenAI-compatible | vLLM | Ollama | scripted)
May import: ports and everything below. Must not import: flows, config, wiring, node, surfaces.
"""
