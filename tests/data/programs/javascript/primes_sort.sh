node -e '
const N = 200000, sieve = new Uint8Array(N + 1); const primes = [];
for (let i = 2; i <= N; i++) { if (sieve[i]) continue; primes.push(i); for (let j = i * i; j <= N; j += i) sieve[j] = 1; }
console.log(primes.length, primes.slice(-5));
const memo = new Map(); const fib = (n) => n < 2 ? BigInt(n) : memo.get(n) ?? (memo.set(n, fib(n - 1) + fib(n - 2)), memo.get(n)); console.log(fib(200));
let seed = 42; const rnd = () => (seed = (seed * 1103515245 + 12345) % 2147483648); const list = Array.from({ length: 50000 }, rnd); list.sort((a, b) => a - b); console.log(list[0], list[25000], list.every((v, i) => !i || list[i - 1] <= v));
const depth = (n) => n === 0 ? 0 : 1 + depth(n - 1); console.log(depth(5000));
const grid = Array.from({ length: 5 }, (_, y) => Array.from({ length: 5 }, (_, x) => (x * y) % 3)); console.log(grid, grid.map((r) => r.join(" ")).join("\n"));'
