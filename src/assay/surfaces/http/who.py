"""`/whoami`: a short path of the operation `caller.show`, as 0.1.0 had it."""

from litestar import get
from litestar.di import NamedDependency
from litestar.response import Response

from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.sessions import Who, WhoAmI, whoami
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SIGNED_IN


@get("/whoami", opt=SIGNED_IN, responses={200: described("the caller", kind=Who), **problems(401)})
async def show_who(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[Who]:
    """Show the principal behind the credential, with what the credential itself is good for."""
    return Response(whoami(desk.tools, caller, WhoAmI()), headers={"cache-control": "no-store"})
