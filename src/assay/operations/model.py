"""Operations about the judge's weights: list, show, add, measure, and put into use by a person's answer."""

from assay.flows.model import activate_model, add_model, evaluate_model, show_model
from assay.flows.request import SEE_ALL
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Change, Listing, Operation, Read, needs
from assay.operations.shown import model as shown

SEE = needs("models:read", *SEE_ALL)
CHANGE = needs("models:write", BuiltInRole.OPERATOR)
EVALUATE_MODEL = Change(
    "model.evaluate",
    evaluate_model.evaluate_model,
    "POST /models/evaluations",
    needs=CHANGE,
    command="model eval",
    crew="judge",
)

OPERATIONS: tuple[Operation, ...] = (
    Listing(
        "models.list",
        show_model.models,
        "GET /models",
        needs=SEE,
        command="model list",
        columns=shown.MODEL_COLUMNS,
        row=shown.model_row,
    ),
    Read(
        "model.show", show_model.model, "GET /models/{weights}", needs=SEE, command="model show", shows=shown.card_text
    ),
    Change(
        "model.add",
        add_model.add_model,
        "POST /models",
        needs=CHANGE,
        command="model add",
        shows=shown.added_text,
        may_repeat=True,
    ),
    EVALUATE_MODEL,
    Change(
        "model.activate",
        activate_model.activate_model,
        "POST /models/{weights}/activate",
        needs=CHANGE,
        command="model activate",
        shows=shown.activation_text,
    ),
)
