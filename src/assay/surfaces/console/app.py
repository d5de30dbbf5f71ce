"""The console as an application of its own, mounted beside the API: its own guard, its own form of refusal.

request -> headers of the console -> guard (cookie) -> page
"""

from litestar import Litestar, Router, asgi
from litestar.datastructures import State
from litestar.di import Provide
from litestar.handlers import ASGIRouteHandler
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from assay.surfaces.console import (
    access,
    answers,
    assets,
    bulk,
    claims,
    decisions,
    drafts,
    events,
    find,
    knowledge,
    ledger,
    login,
    overview,
    progress,
    records,
    report,
    review,
    rules,
    services,
    truth,
    verify,
    views,
)
from assay.surfaces.console.page import answer_fault, guard_headers, refuse_unknown
from assay.surfaces.console.session import PREFIX, admit_visit, provide_visit
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.guard import OPEN
from assay.surfaces.http.health import Readiness

_ROUTES: tuple[ControllerRouterHandler, ...] = (
    assets.show_asset,
    login.show_login,
    login.start_session,
    login.end_session,
    overview.show_front,
    overview.show_banner,
    find.show_found,
    answers.list_answers,
    answers.show_answer,
    answers.report_outcome,
    answers.show_history,
    records.list_permits,
    records.revoke_permit,
    records.show_mandate,
    records.revoke_mandate,
    records.show_learning,
    records.list_models,
    access.show_access,
    access.add_somebody,
    access.show_somebody,
    access.change_somebody,
    knowledge.show_knowledge,
    review.list_tickets,
    review.go_to_next,
    review.show_desk_ticket,
    review.answer_ticket,
    review.act_on_ticket,
    drafts.change_draft,
    bulk.show_bulk,
    bulk.plan_many,
    bulk.answer_many,
    views.save_view,
    views.forget_view,
    progress.list_progress,
    decisions.list_decisions,
    decisions.show_decision,
    decisions.replay_decision,
    decisions.download_proof,
    truth.list_truth,
    truth.show_truth_map,
    truth.show_truth_state,
    claims.list_bundles,
    claims.show_bundle,
    rules.list_rule_lines,
    rules.show_rule_record,
    services.list_known_services,
    ledger.list_entries,
    ledger.download_verification,
    ledger.show_entry,
    report.show_report_form,
    report.download_report,
    verify.show_verify,
    events.stream_changes,
    refuse_unknown,
)
# What the server says of a request; what the API made of it is not handed on.
_REQUEST = (
    "type",
    "asgi",
    "http_version",
    "method",
    "scheme",
    "path",
    "raw_path",
    "root_path",
    "query_string",
    "headers",
    "client",
    "server",
    "extensions",
)


def create_console(desk: Desk) -> Litestar:
    """Every page of the console; each names the operation whose permissions it has."""
    return Litestar(
        route_handlers=[Router("/", route_handlers=list(_ROUTES), guards=[admit_visit])],
        state=State({"desk": desk, "readiness": Readiness(desk.tools)}),
        dependencies={"visit": Provide(provide_visit)},
        exception_handlers={Exception: answer_fault},
        openapi_config=None,
        request_max_body_size=desk.config.http.max_body_bytes,
        logging_config=None,
        debug=False,
    )


def mount_console(desk: Desk) -> ASGIRouteHandler:
    """Under `/console`. Open to the API's guard, which reads no cookie: the console has its own."""
    # Around all of it: an address that is no page is refused before any middleware of the application.
    console = guard_headers(create_console(desk))

    @asgi(PREFIX, is_mount=True, opt=OPEN, copy_scope=True)
    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        asked = {name: value for name, value in scope.items() if name in _REQUEST}
        await console({**asked, "state": {}}, receive, send)  # type: ignore[arg-type]  # a scope as the server made it

    return pages
