"""What only the node's own machine can do, or needs no node: commands and methods without a route.

Files and keys of the folder, servers, offline checks of documents, the demonstration, and loops over operations.
"""

from assay.operations.kinds import Local

_BEGIN = (
    Local(name="node.init", command="init", summary="Make a folder into a node: keys, configuration, database."),
    Local(name="node.demo", command="demo", summary="See every room work, and all of it verified offline."),
    Local(name="node.examine", command="doctor", summary="Examine the folder, the database and the keys."),
    Local(name="node.serve", command="serve", summary="Serve the HTTP interface."),
    Local(name="node.operations", command="operations", summary="List every operation with its doors."),
    Local(name="node.completion", command="completion", summary="Print the completion script of a shell."),
    Local(name="node.back_up", command="backup", summary="Write a signed, portable archive of the node."),
    Local(name="node.restore", command="restore", summary="Make a node from an archive, verified before it counts."),
    Local(name="tools.serve", command="mcp", summary="Serve the tools to agents, over stdio or HTTP."),
    Local(name="gateway.learn", command="gateway learn", summary="Draft a table of the tools that MCP servers offer."),
    Local(name="gateway.serve", command="gateway serve", summary="Serve the tools of other MCP servers, governed."),
)
_LEDGER = (
    Local(
        name="proof.verify_offline",
        command="verify",
        method="verify",
        summary="Verify a proof offline, with nothing but a key that you trust.",
    ),
    Local(
        name="ledger.verify_here",
        command="ledger verify",
        summary="Verify the ledger in the folder's own database, with every core; no server is believed.",
    ),
    Local(name="ledger.export", command="ledger export", summary="Write the ledger to files: entries, tiles, bundles."),
    Local(
        name="log.monitor", command="monitor", summary="Verify a published tile log, with its files and a key alone."
    ),
    Local(name="lake.export", command="lake export", summary="Write tables that other programs read, as Parquet."),
    Local(name="lake.verify", command="lake verify", summary="Verify every row of the lake with its files and a key."),
    Local(name="ledger.watch", command="ledger watch", summary="Print new entries; reads `entries.list` again."),
    Local(name="json.canonicalize", command="canonical", summary="Print the canonical bytes of a JSON text."),
    Local(name="witness.init", command="witness init", summary="Make the key and the folder of a witness."),
    Local(name="witness.serve", command="witness serve", summary="Cosign checkpoints of other nodes over HTTP."),
    Local(name="witness.show", command="witness show", summary="Show the checkpoints that a witness cosigned."),
    Local(name="witness.trust", command="witness trust", summary="Make the key of a log known to a witness."),
    Local(name="node_keys.list", command="key list", summary="List the node's own keys and their validity."),
    Local(name="node_key.rotate", command="key rotate", summary="Replace a key file of the node by a new one."),
    Local(name="node_key.end", command="key end", summary="End a replaced key of the node before its overlap is over."),
    Local(name="anchor.add", command="key trust add", summary="Add a trust anchor to assay.toml."),
)
_REGISTRY = (
    Local(name="codex.lint", command="service lint", summary="List every problem of a codex.json."),
    Local(name="codex.sign", command="service sign", summary="Sign a codex.json with the service's own key."),
    Local(name="codex.card", command="service card", summary="Print the agent card of a codex.json."),
    Local(name="service.check", command="check", summary="Check a running service by rule, and attack it if asked to."),
    Local(name="code.scan", command="proof scan", summary="Find which certified rules some code says it implements."),
)
_CLAIMS = (
    Local(name="gate_policy.new", command="claims policy new", summary="Print the specification's own policy."),
    Local(name="gate_policy.sign", command="claims policy sign", summary="Sign a policy of the gates with a key file."),
    Local(
        name="verdict.estimate",
        command="claims estimate-verdict",
        method="estimate_verdict",
        summary="Draw the judge's reply about a record again, by the weights that judged.",
    ),
)
_VERDICTS = (
    Local(name="model.train", command="model train", summary="Fine-tune weights on pairs, on this machine."),
    Local(name="graph_file.new", command="graph new", summary="Write a small knowledge graph to begin with."),
    Local(name="graph_file.extract", command="graph extract", summary="Draft a graph from the text of a regulation."),
    Local(name="graph_file.upgrade", command="graph upgrade", summary="Write a graph of any form as a typed draft."),
    Local(name="graph_file.validate", command="graph validate", summary="List every issue of the graph in a file."),
    Local(name="graph_file.units", command="graph units", summary="Draft exact unit conversions into a graph file."),
    Local(name="receipt_file.show", command="receipt show", summary="Show what a receipt says; nothing is checked."),
    Local(
        name="receipt_file.verify",
        command="receipt verify",
        summary="Check with the weights, in one forced pass, that a model wrote a verdict.",
    ),
    Local(
        name="sovereignty_file.verify",
        command="sovereignty verify",
        summary="Verify offline a build, the document of a deployment, or the quote of a TPM.",
    ),
)
_TRUTH = (
    Local(name="contract.new", command="contract new", summary="Write a commented contract that can be used as it is."),
    Local(name="contract.lint", command="contract lint", summary="List every problem of contracts, by file and line."),
    Local(name="contract.try", command="contract try", summary="Compile observations of a file under a contract file."),
    Local(name="trust.simulate", command="trust simulate", summary="Simulate attacks on a contract and a policy."),
    Local(name="contract.hash", command="contract hash", summary="Print the hash of a contract that states name."),
    Local(name="contract.lock", command="contract lock", summary="Write or check the lock of released contracts."),
    Local(name="key.build", command="truth key", summary="Print the key of an observation, or the parts of a key."),
    Local(name="policy.new", command="trust policy new", summary="Write a commented trust policy."),
    Local(name="policy.lint", command="trust policy lint", summary="List the problems and weaknesses of a policy."),
    Local(name="policy.simulate", command="trust policy simulate", summary="Let a crowd live under a policy."),
)
_PYTHON = (
    Local(name="node.open", method="aio", summary="The same node for an event loop."),
    Local(name="node.close", method="close", summary="Let go of database, keys and models."),
    Local(name="node.act_as", method="acting", summary="The operations for another credential."),
    Local(name="events.subscribe", method="subscribe", summary="Call a function with every event, in this process."),
    Local(name="events.subscribers", method="subscribers", summary="Show how each subscriber is doing."),
    Local(name="note.submit", method="submit_note", summary="Append a note without waiting for its commit."),
    Local(name="answerers.add", method="answers", summary="Register a function that answers a kind of question."),
    Local(name="strands.add", method="strand", summary="Register a strand of knowledge."),
    Local(name="operation.perform", method="perform_named", summary="Perform an operation by its name."),
)

LOCAL: tuple[Local, ...] = (*_BEGIN, *_LEDGER, *_REGISTRY, *_CLAIMS, *_VERDICTS, *_TRUTH, *_PYTHON)
