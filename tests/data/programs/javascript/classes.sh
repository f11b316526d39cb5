cat > a.js <<'JS'
class Shape { #id = 7; static count = 0; constructor(name) { this.name = name; Shape.count++; } get area() { return 0; } toString() { return `${this.name}:${this.area}`; } static make(...a) { return new this(...a); } get id() { return this.#id; } }
class Circle extends Shape { constructor(r) { super('circle'); this.r = r; } get area() { return +(Math.PI * this.r ** 2).toFixed(2); } *[Symbol.iterator]() { yield this.r; yield this.area; } }
const c = Circle.make(2);
console.log(c, String(c), [...c], c.id, Shape.count, c instanceof Shape, Circle, Shape.name);
class Temp { constructor(v) { this.v = v; } [Symbol.toPrimitive](hint) { return hint === 'number' ? this.v : `T${this.v}`; } }
console.log(+new Temp(3), `${new Temp(4)}`, new Temp(5) + '!');
const mixin = (B) => class extends B { fly() { return 'fly'; } }; console.log(new (mixin(Shape))('m').fly(), mixin(Shape));
const o = { a: 1, get b() { return this.a + 1; }, set b(v) { this.a = v; }, ['c' + 1]: 2, async m() {}, *g() {} }; o.b = 5; console.log(o, o.b, Object.getOwnPropertyDescriptor(o, 'b'));
class Stack { static { this.x = 1; } push(v) { (this.items ??= []).push(v); return this; } } console.log(new Stack().push(1).push(2), Stack.x, typeof Stack, Object.getOwnPropertyNames(Stack.prototype));
console.log(Object.create(null), Object.create({ a: 1 }), new (class {})(), new (class Foo { constructor() { this.self = this; } })());
JS
node a.js
