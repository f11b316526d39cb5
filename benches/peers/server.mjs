// Peers of sqlfs behind one small HTTP interface, so that both are loaded in the same way:
//   POST /exec  {sandbox, script}          -> {stdout, stderr, exit_code}
//   POST /files {sandbox, files: {path: text}}
//
//   memory     just-bash on its file system in memory: no store at all
//   reference  just-bash with the protocol that other servers of this design have: a lease and a
//              version in Redis, a transaction opened by the first write, one statement per file
//              operation; its tree is held in memory
//   bash       GNU bash, a process for each script, on this machine's disk
//
// usage: node server.mjs PEER PORT, with POSTGRES, REDIS and FOLDER in the environment
import http from 'node:http';
import fsp from 'node:fs/promises';
import path from 'node:path';
import crypto from 'node:crypto';
import { spawn } from 'node:child_process';

const [peer, port] = process.argv.slice(2);
const ROOT = '/w';
const LIMITS = {
  executionLimits: { maxCommandCount: 1e7, maxLoopIterations: 1e7, maxWorkUnits: 1e9, maxInputBytes: 1 << 30 },
};

// One after another.
class Queue {
  #last = Promise.resolve();
  run(work) {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}

async function writeAll(fs, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = `${ROOT}/${name}`;
    await fs.mkdir(path.posix.dirname(file), { recursive: true }).catch(() => {});
    await fs.writeFile(file, text);
  }
}

const makers = {
  async bash() {
    return async (id) => {
      const dir = path.join(process.env.FOLDER, id);
      await fsp.mkdir(dir, { recursive: true });
      const exec = (script) => new Promise((resolve) => {
        const child = spawn('bash', ['-c', script], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
        const out = [], err = [];
        child.stdout.on('data', (data) => out.push(data));
        child.stderr.on('data', (data) => err.push(data));
        child.on('close', (code) => resolve({
          stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), exitCode: code ?? -1,
        }));
      });
      const files = async (all) => {
        for (const [name, text] of Object.entries(all)) {
          await fsp.mkdir(path.dirname(path.join(dir, name)), { recursive: true });
          await fsp.writeFile(path.join(dir, name), text);
        }
      };
      return { exec, files };
    };
  },

  async memory() {
    const { Bash } = await import('just-bash');
    return async () => {
      const bash = new Bash({ cwd: ROOT, files: { [`${ROOT}/.keep`]: '' }, defenseInDepth: false, ...LIMITS });
      return { exec: (script) => bash.exec(script), files: (all) => writeAll(bash.fs, all) };
    };
  },

  async reference() {
    const { Bash, InMemoryFs } = await import('just-bash');
    const { default: pg } = await import('pg');
    const { default: Redis } = await import('ioredis');
    const pool = new pg.Pool({ connectionString: process.env.POSTGRES, max: 16 });
    const redis = new Redis(process.env.REDIS);
    await pool.query(`
      CREATE TABLE IF NOT EXISTS blobs(sha bytea PRIMARY KEY, data bytea NOT NULL);
      CREATE TABLE IF NOT EXISTS inodes(id bigserial PRIMARY KEY, sandbox text NOT NULL, kind smallint NOT NULL,
        mode int NOT NULL, size bigint NOT NULL, mtime timestamptz NOT NULL DEFAULT now(), sha bytea);
      CREATE TABLE IF NOT EXISTS dirents(sandbox text NOT NULL, path text NOT NULL, inode bigint NOT NULL,
        PRIMARY KEY(sandbox, path));`);
    const RELEASE = "if redis.call('GET',KEYS[1])==ARGV[1] then redis.call('DEL',KEYS[1]) return 1 end return 0";
    return async (id) => {
      const memory = new InMemoryFs();
      await memory.mkdir(ROOT, { recursive: true });
      const sandbox = `${id}-${process.pid}`, queue = new Queue(), inodes = new Map();
      let transaction = null, dirty = false;
      const query = async (text, values) => {
        if (!transaction) {
          transaction = await pool.connect();
          await transaction.query('BEGIN');
          await transaction.query("SELECT set_config('app.sandbox_id', $1, true)", [sandbox]);
          await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [sandbox]);
        }
        dirty = true;
        return transaction.query(text, values);
      };
      const enter = (file, inode) => query(
        'INSERT INTO dirents(sandbox, path, inode) VALUES($1, $2, $3) ON CONFLICT(sandbox, path) DO UPDATE SET inode = excluded.inode',
        [sandbox, file, inode]);
      const put = async (file) => {
        const data = Buffer.from(await memory.readFileBuffer(file));
        const sha = crypto.createHash('sha256').update(data).digest();
        await query('INSERT INTO blobs VALUES($1, $2) ON CONFLICT DO NOTHING', [sha, data]);
        let inode = inodes.get(file);
        if (inode) {
          await query('UPDATE inodes SET size = $2, sha = $3, mtime = now() WHERE id = $1', [inode, data.length, sha]);
          return;
        }
        const made = await query(
          'INSERT INTO inodes(sandbox, kind, mode, size, sha) VALUES($1, 1, 420, $2, $3) RETURNING id',
          [sandbox, data.length, sha]);
        inode = made.rows[0].id;
        inodes.set(file, inode);
        await enter(file, inode);
      };
      const remove = async (file) => {
        await query('DELETE FROM dirents WHERE sandbox = $1 AND path = $2', [sandbox, file]);
        if (inodes.get(file)) await query('DELETE FROM inodes WHERE id = $1', [inodes.get(file)]);
        inodes.delete(file);
      };
      const changed = {
        writeFile: put, appendFile: put, rm: remove,
        mkdir: async (file) => enter(file, (await query(
          'INSERT INTO inodes(sandbox, kind, mode, size) VALUES($1, 2, 493, 0) RETURNING id', [sandbox])).rows[0].id),
        mv: async (from, to) => { await remove(from); if ((await memory.stat(to)).isFile) await put(to); },
        cp: async (_, to) => { if ((await memory.stat(to)).isFile) await put(to); },
        chmod: (file) => query('UPDATE inodes SET mtime = now() WHERE id = $1', [inodes.get(file) ?? 0]),
        utimes: (file) => query('UPDATE inodes SET mtime = now() WHERE id = $1', [inodes.get(file) ?? 0]),
      };
      const fs = new Proxy(memory, {
        get(target, name) {
          const call = target[name];
          if (typeof call !== 'function') return call;
          if (!changed[name]) return call.bind(target);
          return async (...args) => {
            const known = name === 'mkdir' && await target.exists(args[0]);
            const result = await call.apply(target, args);
            if (!known) await changed[name](...args);
            return result;
          };
        },
      });
      const bash = new Bash({ fs, cwd: ROOT, defenseInDepth: false, ...LIMITS });
      const end = async (how) => {
        if (!transaction) return;
        const client = transaction;
        transaction = null;
        await client.query(how);
        client.release();
      };
      const exec = (script) => queue.run(async () => {
        const token = crypto.randomUUID(), lock = `lock:${sandbox}`, version = `version:${sandbox}`;
        while (!(await redis.set(lock, token, 'PX', 60000, 'NX'))) await new Promise((done) => setTimeout(done, 5));
        try {
          await redis.get(version);
          try {
            const result = await bash.exec(script);
            await end('COMMIT');
            if (dirty) await redis.incr(version);
            dirty = false;
            return result;
          } catch (error) {
            await end('ROLLBACK');
            throw error;
          }
        } finally {
          await redis.eval(RELEASE, 1, lock, token);
        }
      });
      const files = (all) => queue.run(async () => { await writeAll(fs, all); await end('COMMIT'); dirty = false; });
      return { exec, files };
    };
  },
};

const make = await makers[peer]();
const sandboxes = new Map();
const sandbox = (id) => {
  if (!sandboxes.has(id)) sandboxes.set(id, make(id));
  return sandboxes.get(id);
};

async function body(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

const server = http.createServer(async (request, response) => {
  let status = 200, reply;
  try {
    const asked = await body(request), of = await sandbox(asked.sandbox);
    if (request.url === '/files') {
      await of.files(asked.files);
      reply = {};
    } else {
      const { stdout, stderr, exitCode } = await of.exec(asked.script);
      reply = { stdout, stderr, exit_code: exitCode };
    }
  } catch (error) {
    status = 500;
    reply = { error: String(error?.stack ?? error) };
  }
  const text = Buffer.from(JSON.stringify(reply));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
  response.end(text);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
