// `os`: a machine that says nothing about the real one.
module.exports = {
  EOL: '\n', platform: () => 'linux', type: () => 'Linux', arch: () => process.arch, release: () => '6.0.0', version: () => 'sqlfs sandbox', machine: () => 'x86_64',
  hostname: () => 'sandbox', homedir: () => process.env.HOME ?? '/home/user', tmpdir: () => process.env.TMPDIR ?? '/tmp', endianness: () => 'LE',
  userInfo: () => ({ uid: 1000, gid: 1000, username: 'user', homedir: '/home/user', shell: '/bin/bash' }),
  cpus: () => [{ model: 'sandbox', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }], availableParallelism: () => 1,
  totalmem: () => sys.memory()[1], freemem: () => sys.memory()[1] - sys.memory()[0], uptime: () => sys.now() / 1000, loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}), devNull: '/dev/null',
  constants: { signals: { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }, errno: Object.fromEntries(Object.entries(require('errors').ERRNO).map(([name, [number]]) => [name, number])) },
};
