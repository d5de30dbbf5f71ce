"""Validators: the engines of the AI ladder that come with the system.

question -> rules | a general model -> judgement; evidence bytes -> facts about them
May import: ports and everything below. Must not import: flows, config, wiring, node, surfaces.
"""
