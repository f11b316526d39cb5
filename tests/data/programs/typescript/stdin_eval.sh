echo 'const n: number = 2; console.log(n * 21)' | node --input-type=commonjs-typescript
node --input-type=module-typescript -e 'import { sep } from "path"; const s: string = sep; console.log(s)'
node --input-type=commonjs-typescript -p '(1 as number) + 1'
