#!/usr/bin/env python3
"""sqlfs beside its peers, by HTTP, in one run: benches/peers/run starts it.

Every script of `scripts/` is first run by GNU bash; output of a peer that differs is marked.
Then each cell (a script, a number of clients) is loaded by wrk for all peers in turn, in an
order that rotates, several rounds; medians of the rounds are compared. wrk shares the
machine with what it loads: only ratios within one run mean anything.

Writes results.json, and with --readme the table and the picture of README.md.
"""
import argparse
import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SANDBOXES = 4
# Below this directory of a sandbox the scripts run.
FOLDER = "bench"
# Clients that load at the same time.
CLIENTS = (1, 64)
# Name → what it is, in the order of the table.
PEERS = {
    "sqlfs": "this server, scripts on threads",
    "sqlfs-process": "this server, scripts in worker processes (the default)",
    "memory": "just-bash 3.4.2 in memory, no store",
    "reference": "just-bash 3.4.2 with a lease in Redis and a statement per file operation",
    "bash": "GNU bash, a process for each script, on the disk",
}
# README shows these: script → what people call it.
SHOWN = {
    "01_cat": "`cat` of a small file",
    "02_echo_write": "`echo x > f`",
    "07_loop_write": "100 writes in a loop",
    "06_sed_i": "`sed -i` on 100 files",
    "04_grep_rn": "`grep -rn` twice over 2,000 files",
    "03_ls_r": "`ls -R` of 2,000 files",
    "05_find_name": "`find -name` twice over 2,000 files",
    "09_jq": "`jq` twice on 1 MB",
    "10_sort_uniq": "`sort`, `uniq` of 20,000 lines",
    "14_awk": "`awk` over 20,000 lines",
    "12_tar": "`tar` of 100 files, in and out",
    "08_diff": "`diff` of 500 lines",
    "11_heredoc": "five here-documents",
    "13_loop_arith": "2,000 turns of arithmetic",
}


def fixture():
    """2,105 files, 4.5 MB, the same in every run: path → text."""
    dice = random.Random(7)
    words = ("let self return buffer index value match async struct error result token parse "
             "sandbox inode path alpha beta").split()

    def line(count):
        return " ".join(dice.choice(words) for _ in range(count))

    files = {"hello.txt": "hello world\n"}
    for i in range(2000):
        lines = [line(dice.randint(3, 9)) for _ in range(dice.randint(15, 60))]
        if i % 10 == 0:
            lines[len(lines) // 2] += " TODO fix"
        files[f"src/d{i // 25:02d}/f{i:04d}.txt"] = "\n".join(lines) + "\n"
    for i in range(100):
        lines = [f"name=e{i}", "version=1"] + [line(6) for _ in range(20)]
        files[f"edit/e{i:03d}.txt"] = "\n".join(lines) + "\n"
    old = [line(8) for _ in range(500)]
    new = [f"changed {text}" if i % 37 == 0 else text for i, text in enumerate(old)]
    del new[100:103]
    files["a.txt"], files["b.txt"] = "\n".join(old) + "\n", "\n".join(new) + "\n"
    items = [{"id": i, "name": f"item-{i:05d}", "v": i * 7919 % 1000,
              "tags": [dice.choice(words), dice.choice(words)], "note": line(5)} for i in range(9000)]
    files["data.json"] = json.dumps({"items": items})
    files["log.txt"] = "".join(
        f"10.0.{dice.randint(0, 3)}.{dice.randint(0, 60)} {dice.choice(words)} {dice.randint(1, 999)} "
        f"GET /p/{dice.randint(0, 99)}\n" for _ in range(20000))
    return files


def scripts(wanted):
    found = {}
    for file in sorted((HERE / "scripts").glob("*.sh")):
        if not wanted or any(word in file.stem for word in wanted.split(",")):
            # The first line says what class it is of.
            found[file.stem] = file.read_text().split("\n", 1)[1].rstrip("\n")
    return found


class Process:
    """A server of this run; it prints where it listens."""

    def __init__(self, command, env, log):
        self.log = open(log, "w+")
        self.child = subprocess.Popen(command, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=Path(log).parent)
        for line in self.child.stdout:
            found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", line)
            if found:
                self.url = found[1]
                return
        self.log.seek(0)
        sys.exit(f"{command[0]} did not start:\n{self.log.read()}")

    def end(self):
        self.child.terminate()
        self.child.wait()


def call(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=300) as reply:
        text = reply.read()
    return json.loads(text) if text else {}


class Peer:
    """What is loaded. `request` gives path and body of an exec in the sandbox of a number."""

    def __init__(self, name, process):
        self.name, self.process, self.headers = name, process, {}

    def fill(self, files):
        for i in range(SANDBOXES):
            pairs = list(files.items())
            for at in range(0, len(pairs), 500):
                call(f"{self.process.url}/files", {"sandbox": f"s{i}", "files": dict(pairs[at:at + 500])}, {})

    def request(self, number, script):
        return "/exec", {"sandbox": f"s{number}", "script": script}

    def run(self, number, script):
        path, body = self.request(number, script)
        return call(self.process.url + path, body, self.headers)["stdout"]


class Sqlfs(Peer):
    def __init__(self, name, process, token):
        super().__init__(name, process)
        self.headers = {"Authorization": f"Bearer {token}"}

    def fill(self, files):
        self.ids = []
        for _ in range(SANDBOXES):
            made = call(f"{self.process.url}/v1/sandboxes", {}, self.headers)
            self.ids.append(made["id"])
            placed = {f"/home/user/{FOLDER}/{name}": text for name, text in files.items()}
            pairs = list(placed.items())
            for at in range(0, len(pairs), 500):
                call(f"{self.process.url}/v1/sandboxes/{made['id']}/writeFiles",
                     {"files": dict(pairs[at:at + 500])}, self.headers)

    def request(self, number, script):
        # Sent whole: the interface of the peers has no `cwd` of its own, theirs is fixed.
        return f"/v1/sandboxes/{self.ids[number]}/exec-sync", {"script": script, "cwd": f"/home/user/{FOLDER}"}


def load(peer, script, clients, seconds):
    """wrk's figures of one cell."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as requests:
        for number in range(SANDBOXES):
            path, body = peer.request(number, script)
            requests.write(f"{path}\t{json.dumps(body)}\n")
    env = {**os.environ, "REQUESTS": requests.name,
           "HEADERS": "\n".join(f"{name}: {value}" for name, value in peer.headers.items())}
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "-s", str(HERE / "load.lua"),
               peer.process.url]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    os.unlink(requests.name)
    figures = json.loads(re.search(r"RESULT (\{.*\})", out)[1])
    # wrk hangs up with requests on their way: they are done before the next cell.
    for number in range(SANDBOXES):
        peer.run(number, "true")
    return figures


def start(arguments, work):
    postgres, redis = os.environ["SQLFS_TEST_POSTGRES"], os.environ["SQLFS_TEST_REDIS"]
    server = urllib.parse.urlsplit(postgres)

    def sql(text, database="postgres"):
        url = server._replace(path=f"/{database}").geturl()
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", text], check=True)

    peers = []
    for name in arguments.peers.split(","):
        folder = work / name
        folder.mkdir()
        if name.startswith("sqlfs"):
            role = database = name.replace("-", "_")
            sql(f"CREATE ROLE {role} LOGIN PASSWORD 'bench'")
            sql(f"CREATE DATABASE {database} OWNER {role}")
            url = f"postgres://{role}:bench@{server.hostname}:{server.port}/{database}"
            env = {"DATABASE_URL": url, "REDIS_URL": redis, "AUTH_SECRET": "of this run, and long enough to be one",
                   "PORT": "0", "ADMIN_PORT": "0", "SQLFS_DATA_DIR": str(folder), "RUST_LOG": "warn",
                   "MAX_EXECS_PER_OWNER": "64",
                   "INTERPRETER": "process" if name.endswith("process") else "thread"}
            token = subprocess.run([arguments.binary, "token"], env={**os.environ, **env}, capture_output=True,
                                   text=True, check=True, cwd=folder).stdout.strip()
            peers.append(Sqlfs(name, Process([arguments.binary], env, folder / "log"), token))
        else:
            sql(f"CREATE DATABASE peer_{name}")
            env = {"POSTGRES": server._replace(path=f"/peer_{name}").geturl(), "REDIS": redis, "FOLDER": str(folder)}
            command = ["node", str(Path(arguments.modules) / "server.mjs"), name, "0"]
            peers.append(Peer(name, Process(command, env, folder / "log")))
    return peers


def expected(all_scripts, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return {name: subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True,
                                     env={**os.environ, "LC_ALL": "C"}).stdout
                for name, script in all_scripts.items()}


def measure(arguments, peers, all_scripts, results):
    for name, script in all_scripts.items():
        for clients in CLIENTS:
            for turn in range(arguments.rounds):
                at = turn % len(peers)
                for peer in peers[at:] + peers[:at]:
                    once = results["once"][f"{peer.name}/{name}"]
                    if once * clients > arguments.longest:
                        continue
                    # At least some requests of each client.
                    seconds = max(arguments.seconds, min(int(arguments.longest), int(once * clients * 1.5) + 1))
                    cell = load(peer, script, clients, seconds)
                    cell.update(peer=peer.name, script=name, clients=clients, round=turn)
                    results["cells"].append(cell)
            Path(arguments.out).write_text(json.dumps(results, indent=1))
            row = [f"{peer.name} {median(results, peer.name, name, clients) or '-'}" for peer in peers]
            print(f"{name} c={clients}: p50 ms: " + ", ".join(row), flush=True)


def median(results, peer, script, clients):
    """The median of the rounds' medians, milliseconds; None if it was left out."""
    cells = [cell for cell in results["cells"]
             if (cell["peer"], cell["script"], cell["clients"]) == (peer, script, clients) and cell["requests"]]
    if not cells:
        return None
    return round(statistics.median(cell["p50"] for cell in cells) / 1000, 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True, help="the server, built for release")
    parser.add_argument("--modules", required=True, help="folder with server.mjs and its node_modules")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--scripts", default="", help="words of their names, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="least time of a cell")
    parser.add_argument("--longest", type=float, default=8, help="seconds of a cell; a longer one is left out")
    parser.add_argument("--out", default="results.json")
    parser.add_argument("--readme", action="store_true", help="write table and picture into README.md")
    arguments = parser.parse_args()
    files, all_scripts = fixture(), scripts(arguments.scripts)
    results = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "fill_s": {}, "once": {}, "differs": [],
               "cells": []}
    wanted = expected(all_scripts, files)
    with tempfile.TemporaryDirectory() as work:
        peers = start(arguments, Path(work))
        try:
            for peer in peers:
                began = time.monotonic()
                peer.fill(files)
                results["fill_s"][peer.name] = (time.monotonic() - began) / SANDBOXES
                print(f"{peer.name}: {results['fill_s'][peer.name]:.2f} s to fill a sandbox", flush=True)
            for name, script in all_scripts.items():
                for peer in peers:
                    peer.run(0, script)
                    began = time.monotonic()
                    out = peer.run(0, script)
                    results["once"][f"{peer.name}/{name}"] = time.monotonic() - began
                    if out != wanted[name]:
                        results["differs"].append(f"{peer.name}/{name}")
                        print(f"{peer.name}/{name} prints {out[-80:]!r}, not {wanted[name][-80:]!r}")
            measure(arguments, peers, all_scripts, results)
        finally:
            for peer in peers:
                peer.process.end()
    Path(arguments.out).write_text(json.dumps(results, indent=1))
    print(table(results, all_scripts))
    if arguments.readme:
        show(results)


def machine():
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, Linux {platform.release().split('-')[0]}"


def ratio_cell(results, peer, script, clients):
    """A peer's figure as a multiple of sqlfs'; larger is slower."""
    theirs, ours = (median(results, name, script, clients) for name in (peer, "sqlfs"))
    if theirs is None or not ours:
        return "-"
    times = theirs / ours
    star = "\\*" if f"{peer}/{script}" in results["differs"] else ""
    return f"{times:.2g}{star}" if times < 10 else f"{times:.0f}{star}"


def table(results, names):
    peers = [peer for peer in PEERS if any(cell["peer"] == peer for cell in results["cells"])]
    others = [peer for peer in peers if peer != "sqlfs"]
    lines = ["| Script | sqlfs, ms | " + " | ".join(others) + " | 64 clients: sqlfs, ms | " + " | ".join(others) + " |",
             "|---|" + "--:|" * (2 + 2 * len(others))]
    for script in names:
        one, many = (median(results, "sqlfs", script, clients) for clients in CLIENTS)
        cells = [SHOWN.get(script, script), f"{one:.2f}" if one else "-"]
        cells += [ratio_cell(results, peer, script, 1) for peer in others]
        cells.append(f"{many:,.0f}" if many else "-")
        cells += [ratio_cell(results, peer, script, 64) for peer in others]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def show(results):
    text = (ROOT / "README.md").read_text()
    begin, end = "<!-- peers -->\n", "<!-- /peers -->"
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    scripts_shown = [script for script in SHOWN if any(cell["script"] == script for cell in results["cells"])]
    words = f"{results['date']}, {results['machine']}.\n\n{table(results, scripts_shown)}\n"
    (ROOT / "README.md").write_text(before + begin + words + end + after)
    (HERE / "results.svg").write_text(picture(results, scripts_shown))


def picture(results, names):
    """Bars on a scale of tenfolds: how many times longer one script takes than with sqlfs."""
    colours = {"sqlfs-process": "#7aa6c2", "memory": "#c9a24b", "reference": "#b5533c", "bash": "#6b6b6b"}
    peers = [peer for peer in colours if any(cell["peer"] == peer for cell in results["cells"])]
    left, top, bar, gap, width = 250, 64, 9, 10, 520
    row = bar * len(peers) + gap
    low, high = -0.7, 2.0

    def place(times):
        return left + (min(max(math.log10(times), low), high) - low) / (high - low) * width

    height = top + row * len(names) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="20" font-size="14">Time of one warm script, as a multiple of sqlfs on threads '
           f'({results["date"]})</text>']
    for i, peer in enumerate(peers):
        out.append(f'<rect x="{10 + i * 130}" y="32" width="10" height="10" fill="{colours[peer]}"/>'
                   f'<text x="{25 + i * 130}" y="41">{peer}</text>')
    for times in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100):
        x = place(times)
        weight = 1.5 if times == 1 else 0.4
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{height - 18}" stroke="#888" '
                   f'stroke-width="{weight}"/><text x="{x:.1f}" y="{height - 5}" text-anchor="middle" '
                   f'font-size="10">{times}</text>')
    for i, script in enumerate(names):
        y = top + i * row
        label = SHOWN[script].replace("`", "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        out.append(f'<text x="{left - 8}" y="{y + row / 2:.0f}" text-anchor="end">{label}</text>')
        for j, peer in enumerate(peers):
            theirs, ours = (median(results, name, script, 1) for name in (peer, "sqlfs"))
            if theirs is None or not ours:
                continue
            x, one = place(theirs / ours), place(1)
            out.append(f'<rect x="{min(x, one):.1f}" y="{y + j * bar}" width="{abs(x - one):.1f}" '
                       f'height="{bar - 1}" fill="{colours[peer]}"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


if __name__ == "__main__":
    main()
