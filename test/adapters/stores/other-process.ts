// Another process with the same workspace: started by the tests through `startProcess`.
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Frame } from '#contracts';

const [command = '', folder = '', run = '', count = '0'] = process.argv.slice(2);

const birth = {
  cell: 'lead-1',
  parent: null,
  agent: 'lead',
  digest: '0'.repeat(64),
  depth: 0,
  caps: {},
  deadline: 0,
};

const frameOf = (no: number): Frame =>
  ({
    run,
    no,
    at: 1000 + no,
    cell: 'lead-1',
    record:
      no === 0
        ? { type: 'open', recordedBy: { format: 5, build: 'other' }, birth }
        : { type: 'settle', op: no, ok: true },
  }) as unknown as Frame;

const store = await openSqliteStore(folder);
const log = await store.acquireRun(run as RunId);
switch (command) {
  case 'hold':
    log.append(frameOf(0));
    await log.durable();
    console.log('owned');
    process.stdin.resume();
    break;
  case 'append':
    // Prints each number once it is durable, until it is killed.
    for (let no = 0; ; no++) {
      log.append(frameOf(no));
      if (no % 3 === 0) continue;
      await log.durable();
      console.log(no);
    }
  case 'count':
    for (let no = 0; no < Number(count); no++) {
      log.append(frameOf(no));
      await log.durable();
    }
    await store.close();
    break;
  case 'signal':
    // Prints the number of each signal once it is stored, until it is killed.
    for (let nth = 0; nth < 1_000; nth++) {
      await store.putSignal({ run: run as RunId, id: `s${nth}`, by: 'other', at: nth, body: { nth } });
      console.log(nth);
    }
    process.stdin.resume();
    break;
  case 'leave':
    // Neither waits nor closes: the process exits by itself once its appended frames are durable.
    log.append(frameOf(0));
    break;
  default:
    throw new Error(`There is no command ${command}.`);
}
