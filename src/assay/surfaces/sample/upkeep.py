"""What operators and administrators of the sample do: models, policies, keys, webhooks, peers, requests for power."""

import json
from contextlib import suppress
from importlib.resources import files

from assay.adapters.keyfile import create_key_file
from assay.flows.identity.sessions import check_password
from assay.flows.registry.receive_announce import receive_announce
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.registry.announce import AnnounceEvent, AnnouncePolicy, Origin, draft_announce, sign_announce
from assay.registry.open_manifest import open_manifest
from assay.surfaces.cli.shipped import find_shipped
from assay.surfaces.sample.answerers import SQUAT
from assay.surfaces.sample.stage import TENANT, Stage

_WEBHOOK = "https://hooks.port.example/assay"


def keep_up(stage: Stage) -> str:
    """Tighten the gate policy, evaluate an older judge, register keys, a webhook and a peer, ask for more power."""
    stage.do("user:otto", "gate_policy.release", document=find_shipped("claims/policy.yaml").read_text())
    _try_model(stage)
    _register_keys(stage)
    hook = stage.do("user:otto", "webhook.add", url=_WEBHOOK, types=("rca.triggered",))
    old = stage.do("user:otto", "webhook.add", url=f"{_WEBHOOK}/old")
    stage.do("user:otto", "webhook.remove", webhook_id=old.webhook.webhook_id)
    agreed = {"peer": "harbour.example", "rules": [["HB-12", SQUAT]]}
    stage.do("user:otto", "peer.agree", agreement=json.dumps(agreed).encode())
    stage.do("user:ada", "principal.amend", principal_id="user:eve", roles=("reviewer", "ops_team"))
    with suppress(Error):
        check_password(stage.tools, TENANT, PrincipalId("user:nina"), "a forgotten password", at=stage.clock.now())
    return f"a gate policy, an older model, keys, the webhook {hook.webhook.webhook_id}, a request for power"


def _try_model(stage: Stage) -> None:
    weights = (files("assay.model") / "weights" / "judge-1.3.0.bin").read_bytes()
    added = stage.do("user:olga", "model.add", content=weights, version="1.3.0", name="judge").manifest.weight_hash
    for chosen in (None, added):
        stage.do("user:olga", "model.evaluate", cases=b"", weights=chosen, limit=stage.size.cases)


def _register_keys(stage: Stage) -> None:
    """Two keys for signed requests, one of them ended; two of a service, one of them revoked."""
    for number in range(2):
        signer = create_key_file(stage.folder / "keys" / f"sample-{number}.key")
        public = signer.public_key.hex()
        key_id = stage.local("public_key.add", principal_id="service:plant", public_key=public).key_id
        stage.do("user:otto", "service_key.trust", service_id="berths", public_key=public)
        if number:
            stage.local("public_key.end", key_id=key_id, reason="replaced")
            stage.do("user:otto", "service_key.revoke", service_id="berths", key_id=key_id, reason="replaced")
            continue
        manifest = open_manifest(find_shipped("services/berths.json").read_bytes()).manifest
        document = draft_announce(
            manifest,
            AnnounceEvent.ANNOUNCE,
            base_url="https://berths.port.example",
            instance_id="berths-1",
            sequence=1,
            at=stage.clock.now(),
        )
        content = sign_announce(document, key_id=signer.key_id, sign=signer.sign)
        receive_announce(
            stage.tools, TENANT, content, origin=Origin.REMOTE, policy=AnnouncePolicy(), at=stage.clock.now()
        )
