// Seeds that show what was once wrong, and why: they run with every test.
//
//   A seed stands for what workloads and faults make of it. Whoever changes those looks for new ones: undo the fix, run seeds.

export const keptSeeds: readonly { readonly seed: number; readonly why: string }[] = [
  {
    seed: 1,
    why: 'a tool was called under a key before its beginning was durable: after a crash the key stood for another call',
  },
  {
    seed: 4,
    why: 'a turn in which no model answered was counted: the next work of an agent that lives on skipped one',
  },
  {
    seed: 24,
    why: 'the clock was set back: durations below zero, and a replay that came out otherwise',
  },
  {
    seed: 50,
    why: 'tasks were added again after a crash, as nobody had said that they were taken: the whole work of the team was ended',
  },
  {
    seed: 91,
    why: 'the time was up while a task waited to be tried again: the end of the pause was a defect, and the run never ended',
  },
  {
    seed: 95,
    why: 'an agent that lives on was asked to finish after work that failed: what it had said before was told as its answer',
  },
  {
    seed: 311,
    why: 'a task could not be begun, and nothing said so: a replay differed, and the log told of another end',
  },
  {
    seed: 637,
    why: 'a file was written before its beginning was durable: after a crash nobody knew it, and no resume was let through',
  },
  {
    seed: 644,
    why: 'a cancel came in the middle of a turn: its next spawn was let past the limit, and a replay decided otherwise',
  },
  {
    seed: 658,
    why: 'an agent that lets no results out answered a message from outside',
  },
  {
    seed: 1051,
    why: 'an interrupted turn was gone on with while the next one began: one agent took two turns of a conversation at once',
  },
  {
    seed: 1118,
    why: 'the clock was set back between two turns: what was said was told in another order',
  },
  {
    seed: 1129,
    why: 'a coordinator could not answer: its team named nothing as missing, though tasks were',
  },
  {
    seed: 1153,
    why: 'what failed after the time was up blocked those behind it in the log, while its team had skipped them',
  },
  {
    seed: 1340,
    why: 'the hold was too low after a reply without usage: the true cost could pass the cap',
  },
  {
    seed: 1415,
    why: 'one agent was shut down by two calls of a turn: the first of them never had a result',
  },
  {
    seed: 1881,
    why: 'a tool of a server was called after its step had been stopped: opening the server had taken long',
  },
  {
    seed: 2083,
    why: 'a store that closed after a failed write did not give its runs back',
  },
  {
    seed: 2380,
    why: 'a hold that had waited was used before what made room for it was durable: after a crash its cost was in no book',
  },
  {
    seed: 3775,
    why: 'a store whose thread had died did not give its runs back when it was closed',
  },
  {
    seed: 5582,
    why: 'an agent was asked to finish from outside: the time given to it was left behind when the run ended',
  },
  {
    seed: 80_143,
    why: 'a team decided something while it was being stopped: of its log nothing could be told any more',
  },
  {
    seed: 881_903_255,
    why: 'a team decided on some of what had ended and was told of the rest later: its log told of other ends than it did',
  },
];
