"""Flows of permits: issue, claim, report, revoke and reconcile, each durable before it is acknowledged."""
