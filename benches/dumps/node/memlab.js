// What memlab takes to load a heap snapshot and to find dominators and retained sizes:
//
//   npm install --prefix DIR memlab
//   NODE_PATH=DIR/node_modules node memlab.js FILE.heapsnapshot
//
// Its last line is JSON: seconds, the largest resident set in bytes, nodes, and the retained bytes of some classes.
'use strict';
const { getFullHeapFromFile } = require('@memlab/heap-analysis');
const { config } = require('@memlab/core');

config.isContinuousTest = true; // no progress bar

async function main(file) {
  const start = process.hrtime.bigint();
  const heap = await getFullHeapFromFile(file);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  let nodes = 0;
  let largest = 0;
  heap.nodes.forEach((node) => {
    nodes++;
    if (node.type === 'object' && node.retainedSize > largest) largest = node.retainedSize;
  });
  const bytes = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ seconds, bytes, nodes, largest }));
}

main(process.argv[2]);
