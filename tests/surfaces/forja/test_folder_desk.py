"""A node's folder stands behind a service, also where no server of that node runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.kernel.errors import Error
from assay.registry.trip import Fired, FiringCause, SenseFigures
from assay.surfaces.forja.folder_desk import FolderDesk
from assay.wiring import open_node
from tests.flows._node import new_node
from tests.flows._people import Desk, quick_passwords
from tests.surfaces.forja._served import free_port


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("url", [None, "nobody answers here"])
def test_people_restore_through_the_folder_where_no_server_answers(tmp_path: Path, url: str | None) -> None:
    home = new_node(tmp_path)
    with open_node(home) as (tools, _):
        people = Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())
        people.add("user:olga", roles=("operator",))
        session, at = people.session("user:olga"), people.at(minutes=1)
    desk = FolderDesk(home, url=None if url is None else f"http://127.0.0.1:{free_port()}", key="a.b")
    fired = Fired(
        service_id="port",
        episode=1,
        cause=FiringCause.MANUAL,
        reason="test",
        snapshot=SenseFigures(requests=1, errors=1, active_tier=3),
        fired_at=people.start,
    )
    caller = desk.find_caller(session, at=at)
    assert caller is not None
    assert caller.is_session
    assert desk.find_caller("st_forged", at=at) is None
    desk.tell_fired(fired, at=at)
    assert desk.find_restored(fired) is None
    with pytest.raises(Error) as caught:
        desk.restore(fired, credential="st_forged", at=at)
    assert caught.value.code == "identity.not_signed_in"
    assert desk.restore(fired, credential=session, at=at) == desk.find_restored(fired)
    desk.close()
