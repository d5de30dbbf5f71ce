"""Claims: a bundle of claims in, a decision out that says which gate stopped it and who must approve.

bundle -> evidence -> uncertainty -> security -> adversarial -> human approval -> PUBLISH | DEFER | ESCALATE | REFUSE
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
