cat > shop.ts <<'EOT'
interface Item { readonly sku: string; price: number; tags?: string[] }
type Priced<T extends Item = Item> = T & { total(n: number): number };
const items: Item[] = [{ sku: 'a1', price: 2.5 }, { sku: 'b2', price: 10, tags: ['x', 'y'] }];
function priced<T extends Item>(item: T): Priced<T> {
  return { ...item, total: (n: number): number => n * item.price } as Priced<T>;
}
let sum = 0;
for (const item of items.map(priced)) {
  const tags: string = item.tags?.join('+') ?? 'none';
  console.log(item.sku, item.total(3), tags);
  sum += item.total(1)!;
}
console.log(`sum ${sum satisfies number}`);
EOT
node shop.ts
