"""Uses every public method of sql-fs-sdk against a real server.

Run by tests/it/published_client.rs. SQLFS_URL, SQLFS_AUTH_SECRET and SQLFS_ADMIN_SECRET
say where and how. The server lets a request wait 200 ms for its turn.
"""

import functools
import inspect
import os
import threading

import httpx
import sqlfs

URL = os.environ["SQLFS_URL"]
SECRET = os.environ["SQLFS_AUTH_SECRET"]
ADMIN = os.environ["SQLFS_ADMIN_SECRET"]
CLASSES = [
    sqlfs.Client,
    sqlfs.SandboxesResource,
    sqlfs.Sandbox,
    sqlfs.FilesAPI,
    sqlfs.ExecResult,
    sqlfs.BatchExecResult,
    sqlfs.ReadResult,
]
used = set()


def public(cls):
    """Methods and properties that a user of the class may call."""
    for name, member in list(vars(cls).items()):
        if not name.startswith("_") and name != "from_api" and (inspect.isfunction(member) or isinstance(member, property)):
            yield name, member


def watch():
    """Notes each use of a public method or property."""
    for cls in CLASSES:
        for name, member in public(cls):
            key = f"{cls.__name__}.{name}"

            def noting(function, key=key):
                @functools.wraps(function)
                def call(*args, **kwargs):
                    used.add(key)
                    return function(*args, **kwargs)

                return call

            if isinstance(member, property):
                setattr(cls, name, property(noting(member.fget)))
            else:
                setattr(cls, name, noting(member))


class Wire(httpx.BaseTransport):
    """The real transport; counts requests, and can lose one reply."""

    def __init__(self):
        self.inner = httpx.HTTPTransport()
        self.sent = []
        self.lose = 0

    def handle_request(self, request):
        self.sent.append((request.method, request.url.path.rsplit("/", 1)[-1]))
        reply = self.inner.handle_request(request)
        if self.lose == 0:
            return reply
        # As a proxy does whose connection to the server broke: the request was carried out.
        self.lose -= 1
        reply.read()
        reply.close()
        return httpx.Response(503, headers={"Retry-After": "0"}, json={"error": "gateway", "code": "GATEWAY"})


def expect(error, status, code, call):
    try:
        call()
    except error as raised:
        assert (raised.status, raised.code) == (status, code), (raised.status, raised.code)
        return raised
    raise AssertionError(f"{code} was not raised")


def tokens():
    with sqlfs.Client(base_url=URL, auth_secret=SECRET, sub="python", tenant="default") as client:
        token = client.token
    with sqlfs.Client(base_url=URL, admin_secret=ADMIN, sub="python", expires_in="24h") as client:
        assert client.token and client.sandboxes.list() == []
    wrong = sqlfs.Client(base_url=URL, auth_secret="wrong", sub="python")
    expect(sqlfs.AuthError, 403, "FORBIDDEN", lambda: wrong.token)
    wrong.close()
    with sqlfs.Client(base_url=URL, token="nonsense") as client:
        expect(sqlfs.AuthError, 401, "AUTH_INVALID", client.sandboxes.list)
    return token


def sandboxes(client):
    bare = client.sandboxes.create()
    assert bare.record.name is None
    sandbox = client.sandboxes.create(
        name="demo", env={"GREETING": "hi"}, files={"/home/user/a.txt": "a\n"}, python=True, javascript=True, network=True
    )
    record = sandbox.record
    assert (record.id, record.name, record.owner) == (sandbox.id, "demo", "python")
    assert (record.python, record.javascript) == (True, True) and record.created_at.endswith("Z")
    assert [one.id for one in client.sandboxes.list()] == [sandbox.id, bare.id]
    info = client.sandboxes.get(sandbox.id)
    assert (info.id, info.name, info.owner) == (sandbox.id, "demo", "python")
    assert info.created_at == record.created_at and info.last_used_at
    assert client.sandboxes.attach(sandbox.id).exec("cat a.txt").stdout == "a\n"
    client.sandboxes.delete(bare.id)
    expect(sqlfs.NotFoundError, 404, "SANDBOX_NOT_FOUND", lambda: client.sandboxes.get(bare.id))
    expect(sqlfs.ValidationError, 400, "INVALID_INPUT", lambda: client.sandboxes.create(env={"A=B": "x"}))
    return sandbox


def scripts(sandbox):
    done = sandbox.exec(
        'echo "$GREETING $NAME"; pwd; echo e >&2; exit 3', cwd="/tmp", env={"NAME": "you"}, timeout_ms=5000
    )
    assert (done.stdout, done.stderr, done.error) == ("hi you\n/tmp\n", "e\n", "e\n")
    assert (done.exit_code, done.ok, done.timed_out, done.exit_signal) == (3, False, False, None)
    assert sandbox.exec("sleep 0.05").duration_ms >= 45
    assert "+ true" in sandbox.exec("true", debug=True).stderr
    assert sandbox.exec("echo x > f", retry_on_5xx=True).ok
    assert sandbox.exec("cat f", read_only=True).stdout == "x\n"
    expect(sqlfs.ValidationError, 422, "EREADONLY_VIOLATION", lambda: sandbox.exec("echo y > f", read_only=True))
    late = expect(sqlfs.ExecTimeoutError, 408, "EXEC_TIMEOUT", lambda: sandbox.exec("sleep 9", timeout_ms=50))
    assert late.duration_ms >= 50

    batch = sandbox.exec_batch(
        [{"id": "one", "script": "echo 1"}, {"id": "two", "script": "sleep 9"}, {"id": "three", "script": "exit 7"}],
        timeout_ms=20_000,
        per_script_timeout_ms=200,
        retry_on_5xx=True,
    )
    assert [line.id for line in batch] == ["one", "two", "three"]
    assert (batch[0].stdout, batch[0].ok, batch[0].error) == ("1\n", True, None)
    assert batch[1].exit_code == -1 and batch[1].error and not batch[1].ok and batch[1].duration_ms >= 195
    assert batch[2].exit_code == 7 and batch[2].duration_ms >= 0 and batch[2].stderr == ""
    reads = sandbox.exec_batch([{"id": "r", "script": "cat f"}], read_only=True)
    assert reads[0].stdout == "x\n"
    out = sandbox.exec_batch([{"id": "a", "script": "sleep 9"}, {"id": "b", "script": "true"}], timeout_ms=100)
    assert (out[1].exit_code, out[1].error) == (-1, "timeout")

    events = list(sandbox.exec_stream("echo o; echo e >&2; exit 4", cwd="/", env={"A": "b"}, timeout_ms=5000, debug=True))
    assert "".join(e.data for e in events if e.type == "stdout") == "o\n"
    assert "e\n" in "".join(e.data for e in events if e.type == "stderr")
    assert events[-1].type == "exit" and events[-1].exit_code == 4 and events[-1].error is None
    assert events[-1].duration_ms >= 0 and all(e.t >= 0 for e in events)
    odd = "a\u2028b\u0085c"
    shown = sandbox.exec_stream(f"printf '%s' '{odd}'", read_only=True)
    assert "".join(e.data for e in shown if e.type == "stdout") == odd
    expect(sqlfs.ValidationError, 422, "EXEC_TIMEOUT", lambda: list(sandbox.exec_stream("sleep 9", timeout_ms=50)))


def files(sandbox):
    fs = sandbox.fs
    fs.write("/home/user/bin", bytes(range(256)))
    fs.write("/home/user/o é#?.txt", "größe\n")
    read = fs.read("/home/user/bin")
    assert read.content == bytes(range(256))
    assert (read.stat.kind, read.stat.mode, read.stat.size) == ("file", 0o644, 256) and read.stat.mtime
    assert fs.read("/home/user/o é#?.txt").text() == fs.read_text("/home/user/o é#?.txt") == "größe\n"
    fs.write_files({"/home/user/w/1": "one", "/home/user/w/2": "two"})
    fs.mkdir("/home/user/d")
    expect(sqlfs.ConflictError, 409, "EEXIST", lambda: fs.mkdir("/home/user/d"))
    fs.mkdir("/home/user/d/e/f", recursive=True)
    sandbox.exec("ln -s w /home/user/link")
    tree = {entry.path: entry for entry in fs.tree(prefix="/home/user", depth=1)}
    assert tree["/home/user/w"].kind == "dir" and tree["/home/user/link"].kind == "symlink"
    assert tree["/home/user/bin"].size == 256 and tree["/home/user/bin"].mtime
    assert "/home/user/w/1" not in tree and "/home/user/w/1" in {entry.path for entry in fs.tree()}
    assert sandbox.ingest_files({"x": b"\0\1", "y/z": "text"}, base_path="/home/user/in") == {"status": "ok", "fileCount": 2}
    assert fs.read("/home/user/in/x").content == b"\0\1"
    large = sandbox.ingest_files({"large": bytes(9 << 20)}, allow_oversized=True)
    assert large["fileCount"] == 1 and fs.read("/home/user/project/large").content == bytes(9 << 20)
    expect(sqlfs.ConflictError, 409, "ENOTEMPTY", lambda: fs.delete("/home/user/w"))
    fs.delete("/home/user/w", recursive=True)
    fs.delete("/home/user/bin")
    expect(sqlfs.NotFoundError, 404, "ENOENT", lambda: fs.read("/home/user/bin"))
    expect(sqlfs.ValidationError, 400, "EISDIR", lambda: fs.read("/home/user"))


def lost_replies(token):
    """What was carried out but not answered: the client sends again what it may, and no more."""
    wire = Wire()
    client = sqlfs.Client(base_url=URL, token=token, http_client=httpx.Client(transport=wire))
    sandbox = client.sandboxes.create()
    fs = sandbox.fs

    def times(call):
        wire.sent.clear()
        wire.lose = 1
        call()
        assert wire.lose == 0, "nothing was sent"
        return len(wire.sent)

    for again in [
        lambda: fs.write("/home/user/f", "1"),
        lambda: fs.write_files({"/home/user/g": "2"}),
        lambda: fs.mkdir("/home/user/d", recursive=True),
        lambda: sandbox.ingest_files({"h": b"3"}, base_path="/home/user"),
        lambda: fs.read("/home/user/f"),
        lambda: fs.tree(),
        lambda: client.sandboxes.get(sandbox.id),
        lambda: client.sandboxes.list(),
        lambda: sandbox.exec("cat f", read_only=True),
        lambda: sandbox.exec("echo 4 > i", retry_on_5xx=True),
        lambda: sandbox.exec_batch([{"id": "a", "script": "cat f"}], read_only=True),
    ]:
        assert times(again) == 2, wire.sent
    for once in [
        lambda: sandbox.exec("echo line >> log"),
        lambda: sandbox.exec_batch([{"id": "a", "script": "echo line >> log"}]),
        lambda: list(sandbox.exec_stream("echo line >> log")),
    ]:
        assert times(lambda: expect(sqlfs.ServerError, 503, "GATEWAY", once)) == 1, wire.sent
    # Sent again, the files hold what they would without it; what was sent once is there once.
    assert sandbox.exec("cat f g h i; ls -d d; cat log").stdout == "1234\nd\nline\nline\nline\n"
    # Creation is not idempotent: a lost reply leaves a sandbox that nobody knows.
    before = len(client.sandboxes.list())
    assert times(lambda: client.sandboxes.create(name="twice")) == 2
    assert len(client.sandboxes.list()) == before + 2
    sandbox.delete()
    client.close()


def busy(token):
    """A 503 of the server itself: another script has the turn for longer than anybody waits."""
    wire = Wire()
    client = sqlfs.Client(base_url=URL, token=token, http_client=httpx.Client(transport=wire))
    holder = sqlfs.Client(base_url=URL, token=token)
    sandbox = client.sandboxes.create()
    started = threading.Event()

    def hold():
        for event in holder.sandboxes.attach(sandbox.id).exec_stream("echo go; sleep 2; echo held > f"):
            if event.type == "stdout":
                started.set()

    thread = threading.Thread(target=hold)
    thread.start()
    assert started.wait(20)
    wire.sent.clear()
    expect(sqlfs.ServerError, 503, "LEASE_TIMEOUT", lambda: sandbox.exec("echo mine > f"))
    assert len(wire.sent) == 1, wire.sent
    wire.sent.clear()
    sandbox.fs.write("/home/user/f", "written")
    assert len(wire.sent) > 1, "it was not sent again"
    thread.join()
    assert sandbox.fs.read("/home/user/f").text() == "written"
    sandbox.delete()
    holder.close()
    client.close()


def main():
    assert sqlfs.__version__ == "0.3.1", sqlfs.__version__
    watch()
    token = tokens()
    client = sqlfs.Client(base_url=URL, token=token)
    sandbox = sandboxes(client)
    scripts(sandbox)
    files(sandbox)
    sandbox.delete()
    expect(sqlfs.NotFoundError, 404, "SANDBOX_NOT_FOUND", lambda: sandbox.exec("true"))
    client.close()
    lost_replies(token)
    busy(token)
    every = {f"{cls.__name__}.{name}" for cls in CLASSES for name, _ in public(cls)}
    assert len(every) > 20, every
    assert every == used, f"not used: {sorted(every - used)}"
    print(f"used all of {len(every)} methods and properties")


main()
