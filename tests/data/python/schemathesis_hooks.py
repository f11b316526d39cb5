"""Hooks and a check of the schemathesis run (tests/it/openapi_schemathesis.rs)."""

import gzip
import io
import os
import re
import tarfile

import schemathesis

SANDBOX = os.environ["SQLFS_SANDBOX"]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
EXEC = ("/v1/sandboxes/{id}/exec-sync", "/v1/sandboxes/{id}/exec")
FILE = "/v1/sandboxes/{id}/files/{path}"
# Replies to a request that the server did not understand, as against those that the
# sandbox's state gives to one that it did.
NOT_UNDERSTOOD = {"INVALID_INPUT", "UNKNOWN_FIELD", "UNSUPPORTED_MEDIA_TYPE", "METHOD_NOT_ALLOWED", "NOT_FOUND"}


def is_positive(case):
    return bool(case.meta) and case.meta.generation.mode.is_positive


@schemathesis.hook
def filter_case(context, case):
    # The text of a number or a flag is text: a body of text cannot be of a wrong type.
    return is_positive(case) or not (case.media_type or "").startswith("text/") or isinstance(case.body, str)


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = (case.operation.method, case.operation.path)
    stateful = bool(case.meta) and case.meta.phase.name.value == "stateful"
    # A random id is a sandbox that does not exist: everything would answer 404. Deletion
    # keeps its random ids; the stateful phase has those of the replies before.
    deletion = operation in (("delete", "/v1/sandboxes/{id}"), ("delete", "/v1/admin/sandboxes/{id}"))
    if not stateful and not deletion:
        given = (case.path_parameters or {}).get("id")
        if isinstance(given, str) and UUID.fullmatch(given):
            case.path_parameters["id"] = SANDBOX
    if not is_positive(case):
        return
    # What the document can say in words only:
    if case.operation.path in EXEC:
        # the parameters of the exec routes belong to bodies of text,
        if case.media_type == "application/json":
            case.query = {}
        # one parameter cannot need another, as snapshot does,
        elif case.query and case.query.get("readOnly") is not True:
            case.query.pop("snapshot", None)
        # and If-Match excludes ifVersion.
        options = case.body if isinstance(case.body, dict) else case.query
        if "ifVersion" in (options or {}):
            case.headers.pop("If-Match", None)
    # The coverage phase takes some valid values to a length where their closing quote is cut.
    tags = (case.headers or {}).get("If-Match")
    if tags is not None and not re.fullmatch(r'\*|".*"', tags):
        del case.headers["If-Match"]
    # Half of the reads and edits are of a file that is there.
    if operation in (("get", FILE), ("patch", FILE)) and len(case.path_parameters["path"]) % 2:
        case.path_parameters["path"] = "home/user/a.txt"
    # schemathesis 4.32 breaks off when a reply holds a URL that urllib cannot take apart.
    network = case.body.get("network") if isinstance(case.body, dict) else None
    if isinstance(network, dict):
        network["allow"] = [re.sub(r"[\[\]]", "", prefix) for prefix in network["allow"]]
    # A cursor is what an earlier reply gave.
    if operation in (("get", "/v1/sandboxes"), ("get", "/v1/admin/sandboxes")) and case.query:
        case.query.pop("cursor", None)


def tar(value):
    """An archive whose one file holds what was generated."""
    data = value if isinstance(value, bytes) else str(value).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        entry = tarfile.TarInfo("generated")
        entry.size = len(data)
        writer.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


@schemathesis.serializer("application/x-tar")
def serialize_tar(context, value):
    return tar(value)


@schemathesis.serializer("application/gzip")
def serialize_gzip(context, value):
    return gzip.compress(tar(value))


@schemathesis.check
def valid_requests_are_understood(context, response, case):
    """Stands in for positive_data_acceptance, which cannot tell the two kinds apart."""
    if is_positive(case) and response.headers.get("content-type", [""])[0] == "application/json":
        body = response.json()
        code = body.get("code") if isinstance(body, dict) else None
        assert code not in NOT_UNDERSTOOD, f"{code}: {body['error']}"
