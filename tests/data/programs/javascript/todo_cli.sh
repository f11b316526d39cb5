cat > todo.mjs <<'JS'
import { existsSync, readFileSync, writeFileSync } from 'fs';
const FILE = 'todo.json'; const load = () => (existsSync(FILE) ? JSON.parse(readFileSync(FILE)) : []); const save = (t) => writeFileSync(FILE, JSON.stringify(t));
const [cmd, ...args] = process.argv.slice(2); const todos = load();
switch (cmd) {
  case 'add': todos.push({ id: todos.length + 1, text: args.join(' '), done: false }); save(todos); break;
  case 'done': { const t = todos.find((t) => t.id === +args[0]); if (!t) { console.error(`no todo ${args[0]}`); process.exit(2); } t.done = true; save(todos); break; }
  case 'list': for (const t of todos) console.log(`${t.done ? '[x]' : '[ ]'} ${t.id} ${t.text}`); break;
  default: console.log('usage: todo add|done|list'); process.exitCode = 1;
}
JS
node todo.mjs; echo $?; node todo.mjs add buy milk; node todo.mjs add 'write code'; node todo.mjs done 1; node todo.mjs done 9; echo $?; node todo.mjs list
