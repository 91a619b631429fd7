// Makes a heap of about 1.2 million nodes and writes a snapshot of it:
//
//   node heap.js OUT.heapsnapshot [SIZE]
//
// A large Map, a linked list, a tree, arrays, strings and closures: what programs hold. SIZE 1 gives about 1.2
// million nodes. Its last line says what the program knows about itself, as JSON.
'use strict';
const v8 = require('v8');

class Customer { constructor(i) { this.name = `customer ${i}`; this.orders = []; this.best = null; } }
class Order { constructor(i, customer) { this.id = `order-${i}`; this.customer = customer; this.lines = [i, i + 0.5]; } }
class Node { constructor(next) { this.next = next; this.label = null; } }
class Tree { constructor(left, right) { this.left = left; this.right = right; } }

const size = Number(process.argv[3] ?? 1);
const count = (n) => Math.max(1, Math.round(n * size));
const heap = { customers: new Map(), list: null, tree: null, callbacks: [], tags: [] };

for (let i = 0; i < count(30_000); i++) {
  const customer = new Customer(i);
  heap.customers.set(`key-${i}`, customer);
  for (let k = 0; k < 4; k++) customer.orders.push(new Order(i * 4 + k, customer));
  customer.best = customer.orders[i % 4];
}
for (let i = 0; i < count(160_000); i++) {
  heap.list = new Node(heap.list);
  if (i % 10 === 0) heap.list.label = { at: heap.list, text: `label ${i}` };
}
const grow = (depth) => depth === 0 ? null : new Tree(grow(depth - 1), grow(depth - 1));
heap.tree = grow(Math.max(1, Math.round(16 + Math.log2(size))));
for (let i = 0; i < count(45_000); i++) {
  const seen = [i];
  heap.callbacks.push(() => seen);
}
for (let i = 0; i < count(15_000); i++) heap.tags.push({ kind: 'tag', of: heap.tags[i >> 1] ?? null, words: [`w${i}`, `v${i}`] });

globalThis.heap = heap;
v8.writeHeapSnapshot(process.argv[2]);
const lists = (n, it = heap.list) => { for (; it; it = it.next) n++; return n; };
const trees = (it) => it ? 1 + trees(it.left) + trees(it.right) : 0;
console.log(JSON.stringify({
  Customer: heap.customers.size, Order: heap.customers.size * 4, Node: lists(0), Tree: trees(heap.tree), closures: heap.callbacks.length,
}));
