"""The bits of schema `ankr-32bit-v1` as numbers, for `needs=BOOK | MANIFEST`."""

# 0-7: the same in every schema. SUPER implies nothing by itself.
READ = 1 << 0
QUERY = 1 << 1
WRITE = 1 << 2
EXECUTE = 1 << 3
APPROVE = 1 << 4
AUDIT = 1 << 5
ADMIN = 1 << 6
SUPER = 1 << 7
# 8-15: maritime; another schema names these sixteen bits for its own domain.
BOOK = 1 << 8
MANIFEST = 1 << 9
BL_ISSUE = 1 << 10
RATE_DESK = 1 << 11
FEEDER_OPS = 1 << 12
NETWORK_PLAN = 1 << 13
VESSEL_OPS = 1 << 14
COMPLIANCE_OVERRIDE = 1 << 15
# 16-23: logistics; 21-23 are reserved.
GATE_IN = 1 << 16
TRACK = 1 << 17
FTA_CHECK = 1 << 18
ALERT_ACK = 1 << 19
PORT_OPS = 1 << 20
# 24-31: autonomy, the same in every schema; 30-31 are reserved.
AI_READ = 1 << 24
AI_QUERY = 1 << 25
AI_SUGGEST = 1 << 26
AI_EXECUTE = 1 << 27
AI_APPROVE = 1 << 28
AUTONOMOUS = 1 << 29
