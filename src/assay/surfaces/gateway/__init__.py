"""A gateway in front of others' MCP servers: their tools, each call gated, permitted, forwarded once and recorded.

agent's call -> who asks -> the signed table's row -> the pinned definition
  READ_ONLY -> forward -> guardians read the result -> on record -> the agent
  others    -> gate -> PUBLISH -> permit, claim -> forward once -> report -> guardians -> the agent
               ESCALATE, DEFER -> an elicitation, or a pending result with the tickets; the same call again goes on
A tool without a row, and one whose definition changed, is refused. Needs the extra `mcp`.
"""
