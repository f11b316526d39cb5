cat > ü.ts <<'EOT'
type Grüße<T> = { größe: T };
const 变量: Grüße<string> = { größe: '😀' as const };
let emoji: '😀' | '🎉' = '🎉'; console.log(变量.größe, emoji, [...(emoji as string)].length);
/* 注释: number */ const s: string = `${变量.größe as string}:${'x' as 'x'}`; console.log(s);
EOT
node ü.ts
