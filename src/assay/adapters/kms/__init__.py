"""Key management: signers whose private key never enters this process.

port signer <- token or service
May import: ports and everything below. Must not import: flows, config, wiring, node, surfaces.
"""
