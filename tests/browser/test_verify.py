"""The browser verifies as the command line does: the same checks, the same codes, and the file goes nowhere."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from assay.delivery.annotate import Annotation
from assay.delivery.level import Level
from assay.delivery.strand import StrandReport
from assay.facts.delivery import AnswerDelivered
from assay.flows.delivery.answers import OUTPUT_ATTACHMENT
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.prove_record import prove_record
from assay.flows.ledger.report_page import ReportForm, render_form
from assay.flows.ledger.report_period import ReportScope, report_period
from assay.kernel.bundle import Attachment, Bundle, parse_bundle, render_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import EntryKind, draft_entry
from tests.browser._scene import Served, opened_ledger
from tests.flows._node import TENANT
from tests.scale import LONG

pytestmark = pytest.mark.slow
_RUN = """async ([cases, trust]) => {
  const { checkBundle } = await import("/console/static/proof/check.js");
  const found = [];
  for (const text of cases) {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    try {
      const one = await checkBundle(bytes, { trust });
      found.push([one.holds, one.code, one.checks.map((check) => [check.name, check.outcome, check.code])]);
    } catch (error) {
      found.push([false, error.code ?? String(error), []]);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A proof is of any ledger, so a new one will do."""
    with opened_ledger(tmp_path_factory.mktemp("ledger")) as opened:
        yield opened


@pytest.fixture(scope="module")
def proof(scene: Served) -> bytes:
    """An entry with a disclosed value, in a tree of some size."""
    body: dict[str, JsonValue] = {
        "asked_by": "Ada Lovelace",
        "answer": "clear",
        "share": 0.125,
        "many": [1, 2, {"ü": None}],
    }
    for number in range(20):
        append_record(scene.tools, TENANT, {"number": number}, at=scene.tools.clock.now()).result()
    done = append_record(scene.tools, TENANT, body, personal=["/asked_by"], at=scene.tools.clock.now()).result()
    scene.checkpoint()
    return render_bundle(prove_record(scene.tools, TENANT, done.sequence_number, disclose=True))


def _here(received: bytes, trust: str) -> list[Any]:
    try:
        finding = check_bundle(parse_bundle(received), parse_anchors([trust]))
    except Error as error:
        return [False, error.code, []]
    checks = [[str(one.name), str(one.outcome), one.code] for one in finding.checks]
    return [finding.holds, finding.code, checks]


def _there(page: Page, cases: list[bytes], trust: str) -> list[Any]:
    page.goto("/console/verify")
    found: list[Any] = page.evaluate(_RUN, [[base64.b64encode(one).decode() for one in cases], trust])
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  any JSON
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*path, key))
    else:
        yield path


def _changed(value: Any) -> list[Any]:  # noqa: ANN401  any JSON
    """Another value of the same sort, and one of another sort."""
    if isinstance(value, str):
        middle = len(value) // 2
        other = "b" if value[middle : middle + 1] == "a" else "a"
        return [value[:middle] + other + value[middle + 1 :], value + "\n", "", 7]
    if isinstance(value, int):
        return [value + 1, -1, float(value) + 0.5, str(value)]
    return ["something", 0]


def _field_changes(text: bytes) -> Iterator[bytes]:
    """Each field of the file changed, left out, and given twice."""
    for path in _leaves(json.loads(text)):
        for kind in ("change", "drop"):
            document = json.loads(text)
            holder = document
            for key in path[:-1]:
                holder = holder[key]
            if kind == "drop":
                del holder[path[-1]]
                yield json.dumps(document).encode()
                continue
            for value in _changed(holder[path[-1]]):
                holder[path[-1]] = value
                yield json.dumps(document, ensure_ascii=False).encode()


_MALFORMED = (
    b"",
    b"[]",
    b"nonsense",
    b"\xef\xbb\xbf{}",
    b"\xff",
    b'{"format":"assay-proof-bundle/1"}',
    b'{"a":1,"a":2}',
    b'{"a":NaN}',
    b'{"a":"\\ud800"}',
    b"[" * 200 + b"]" * 200,
    b"{} {}",
    b'{"a":' + b"9" * 80 + b"}",
    b'{"a":1e999}',
    b'{"a":01}',
    b'{"a":"\x01"}',
)


def test_each_field_that_is_changed_gets_the_codes_of_the_command_line(page: Page, scene: Served, proof: bytes) -> None:
    """Whatever is changed: the same checks pass, the same fail, with the same codes; only spelling may differ."""
    trust = scene.tools.founder
    cases = [proof, *_field_changes(proof), *_MALFORMED]
    step = 1 if LONG else 5
    cases += [proof[:at] + bytes([proof[at] ^ 1]) + proof[at + 1 :] for at in range(0, len(proof), 41 * step)]
    # A letter of the checkpoint's signature, wherever the steps above fall.
    signed = proof.index(b" ", proof.index("\N{EM DASH} ".encode()) + 4) + 20
    cases.append(proof[:signed] + (b"A" if proof[signed : signed + 1] != b"A" else b"B") + proof[signed + 1 :])
    expected = [_here(one, trust) for one in cases]
    found = _there(page, cases, trust)
    assert found[0][0] is True
    different = [
        (case[:2000], one, other) for case, one, other in zip(cases, expected, found, strict=True) if one != other
    ]
    assert different == []
    codes = {one[1] for one in expected}
    assert {"proof.entry_hash", "merkle.root_mismatch", "proof.form", "checkpoint.signature", "key.record"} <= codes
    assert {"json.duplicate_key", "json.depth", "json.non_finite", "commitment.mismatch"} <= codes


def test_only_the_output_that_the_entry_names_passes_for_it(page: Page, scene: Served) -> None:
    """The attachment's own hash is anybody's to write; another kind of entry names no output."""
    said, other = b'"clear"', b'"shallow"'
    cases = [
        _with_output(scene, EntryKind.ANSWER_DELIVERED, said, said),
        _with_output(scene, EntryKind.ANSWER_DELIVERED, said, other),
        _with_output(scene, EntryKind.NOTE, said, said),
    ]
    found = [one[:2] for one in _there(page, cases, scene.tools.founder)]
    assert found == [[True, None], [False, "proof.attachment"], [False, "proof.attachment"]]
    anchors = parse_anchors([scene.tools.founder])
    assert [[one.holds, one.code] for one in (check_proof(case, anchors) for case in cases)] == found


def _with_output(scene: Served, kind: EntryKind, said: bytes, shown: bytes) -> bytes:
    """A proof of an entry about what was said, with what is shown as the output."""
    at = scene.tools.clock.now()
    body = _answer_body(said, shown, at) if kind is EntryKind.ANSWER_DELIVERED else {"output_hash": digest_of(said)}
    draft = draft_entry(TENANT, kind, body, at=at)
    # The entry alone: the page reads no row.
    number = scene.tools.database.write(lambda unit: unit.append(draft)).sequence_number
    scene.checkpoint()
    attached = Attachment(kind=OUTPUT_ATTACHMENT, name="a.json", sha256=digest_of(shown), content=shown)
    return render_bundle(prove_record(scene.tools, TENANT, number, attachments=(attached,)))


def _answer_body(said: bytes, shown: bytes, at: Instant) -> dict[str, JsonValue]:
    """The whole body of an entry about an answer, of which the proof reads the hash of the output."""
    annotation = Annotation(
        authenticity_level=Level.UNVERIFIED,
        disclosure="",
        human_review_required=False,
        strands_present=(),
        strands_missing=(),
        answer_id=f"ans_{digest_of(said + shown)[-32:]}",
        query_type="vessel.ukc-status",
        service="bridge",
        rules=(),
        output_hash=digest_of(said),
        answered_at=at,
    )
    body = AnswerDelivered(
        asked_by=PrincipalId("user:ada"),
        session_id=None,
        answerer="bridge",
        question_hash=digest_of(b"{}"),
        output_hash=digest_of(said),
        record_hash=digest_of(said + shown),
        level=annotation.authenticity_level,
        strands=StrandReport(results=()),
        shortfall=None,
        delivered=annotation,
        # Asked for again: such an entry adds no row, which would need the record of the answer.
        resumed=True,
    )
    told: dict[str, JsonValue] = msgspec.to_builtins(body)
    return told


def test_nobody_is_trusted_who_was_not_named(page: Page, proof: bytes) -> None:
    """Without a key the proof fits together and proves nothing; another's key changes nothing."""
    stranger = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    for trust in (stranger, f"sha256:{'0' * 64}"):
        ((holds, code, _),) = _there(page, [proof], trust)
        assert (holds, code) == (False, "proof.untrusted_signer")
        assert _here(proof, trust)[:2] == [False, "proof.untrusted_signer"]
    ((holds, code, _),) = _there(page, [proof], "no key at all")
    assert (holds, code) == (False, "key.malformed")


def test_anybody_verifies_in_the_page_and_a_changed_file_is_refused(page: Page, scene: Served, proof: bytes) -> None:
    """Without an account; the file is read in the browser and sent nowhere."""
    page.goto("/console/verify")
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    _give(page, proof)
    expect(page.locator("#outcome")).to_have_text("NOT TRUSTED")
    page.get_by_label("Trusted keys").fill(scene.tools.founder)
    page.get_by_label("Trusted keys").blur()
    expect(page.locator("#outcome")).to_have_text("VALID")
    assert page.locator("#checks tbody tr").count() == 11
    _give(page, proof.replace(b"clear", b"cleer"))
    expect(page.locator("#outcome")).to_have_text("INVALID")
    expect(page.locator("#words")).to_contain_text("proof.entry_hash")
    expect(page.locator("#proven")).to_be_hidden()
    _give(page, b"not a proof <script>pwned()</script>")
    expect(page.locator("#words")).to_contain_text("json.malformed")
    assert asked == []
    assert page.evaluate("window.faults") == []


def test_an_audit_report_is_told_from_a_forgery(page: Page, scene: Served) -> None:
    """It holds many entries, which the command line verifies; nobody shall think that it was changed."""
    at = scene.tools.clock.now()
    scope = ReportScope(from_at=Instant(at - timedelta(days=1)), until=at)
    scene.checkpoint()
    report = report_period(scene.tools, TENANT, scope, at=at)
    page.goto("/console/verify")
    _give(page, render_form(report, ReportForm.JSON))
    expect(page.locator("#outcome")).to_have_text("NOT VERIFIED HERE")
    expect(page.locator("#words")).to_contain_text("assay verify FILE")
    expect(page.locator("#checks")).to_be_hidden()


def test_no_hash_of_a_check_is_cut_off(page: Page, proof: bytes) -> None:
    """What an auditor compares is there whole, without moving the table."""
    page.goto("/console/verify")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        _give(page, proof)
        expect(page.locator("#outcome")).to_have_text("NOT TRUSTED")
        frame = page.locator("#finding .wide")
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth") or width < 400
        cells = page.locator("#checks td:last-child")
        assert cells.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")


def _give(page: Page, content: bytes) -> None:
    page.get_by_label("choose the file").set_input_files(
        {"name": "proof.json", "mimeType": "application/json", "buffer": content}
    )


def test_a_browser_that_cannot_check_signatures_says_so(page: Page, proof: bytes) -> None:
    """Nothing holds by default: what cannot be checked is refused."""
    page.goto("/console/verify")
    page.evaluate(
        "() => { crypto.subtle.importKey = () => Promise.reject(new DOMException('no', 'NotSupportedError')); }"
    )
    _give(page, proof)
    expect(page.locator("#words")).to_contain_text("browser.ed25519")
    expect(page.locator("#outcome")).to_have_text("INVALID")


def test_a_bundle_reads_back(proof: bytes) -> None:
    """What the corpus is made from is a proof that the command line accepts."""
    assert isinstance(parse_bundle(proof), Bundle)
