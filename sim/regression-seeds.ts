// Seeds that once found a bug, and what it was. They run with every test.
//
//   What a seed does depends on the workloads and faults. If you change those, find new seeds: undo each fix and run seeds.

export const regressionSeeds: readonly { readonly seed: number; readonly why: string }[] = [
  {
    seed: 1,
    why: 'a tool was called before its begin record was durable: after a crash, the key belonged to another call',
  },
  {
    seed: 4,
    why: 'a turn without a model reply was counted: the next work of a resident skipped a turn',
  },
  {
    seed: 24,
    why: 'the clock was set back: durations were negative, and a replay differed',
  },
  {
    seed: 50,
    why: 'unacknowledged tasks were added again after a crash: the whole team run ended',
  },
  {
    seed: 91,
    why: 'the deadline passed while a task waited for its retry: the end of the pause was a defect, and the run never ended',
  },
  {
    seed: 95,
    why: 'a resident was asked to finish after failed work: an earlier text was reported as its answer',
  },
  {
    seed: 311,
    why: 'a task could not start and no record said so: a replay differed, and the log showed another end',
  },
  {
    seed: 637,
    why: 'a file was written before its begin record was durable: after a crash, the unknown file made every resume fail',
  },
  {
    seed: 644,
    why: 'a cancel came in the middle of a turn: the next spawn exceeded the limit, and a replay decided differently',
  },
  {
    seed: 658,
    why: 'an agent without the grant for results answered a message from outside',
  },
  {
    seed: 1051,
    why: 'an interrupted turn was resumed while the next one started: an agent took two turns of a conversation at the same time',
  },
  {
    seed: 1118,
    why: 'the clock was set back between two turns: the conversation history was in the wrong order',
  },
  {
    seed: 1129,
    why: 'a coordinator could not answer: the team listed nothing as missing although tasks were',
  },
  {
    seed: 1153,
    why: 'a task failed after the deadline: in the log its dependents were blocked, but the team had skipped them',
  },
  {
    seed: 1340,
    why: 'the hold was too low after a reply without usage: the true cost could exceed the cap',
  },
  {
    seed: 1415,
    why: 'two calls of a turn shut down the same agent: the first call never got a result',
  },
  {
    seed: 1881,
    why: 'a tool of a server was called after its step had been stopped, because opening the server took long',
  },
  {
    seed: 2083,
    why: 'a store that was closed after a failed write did not release its runs',
  },
  {
    seed: 2380,
    why: 'a waiting hold was used before the record that made room for it was durable: after a crash, its cost was in no account',
  },
  {
    seed: 3775,
    why: 'a store whose thread had died did not release its runs when it was closed',
  },
  {
    seed: 5_400,
    why: 'the note of a child whose definition grants none crossed to a caller that it may exchange messages with',
  },
  {
    seed: 5582,
    why: 'an agent was asked to finish from outside: its grace timer was left over when the run ended',
  },
  {
    seed: 80_143,
    why: 'a team made a decision while it was being stopped: its log could not be followed any more',
  },
  {
    seed: 881_903_255,
    why: 'a team decided after reading only some of the ended tasks: its log showed other ends than the team reported',
  },
  {
    seed: 920_488_805,
    why: 'while a tree was being stopped, a waiting hold was refused before its own cell was stopped: a replay ended differently',
  },
  {
    seed: 20_262_257,
    why: 'the judge of events expected none from a process that read a resumed run and died at its own first record',
  },
  {
    seed: 892_997_950,
    why: 'the judge of queues counted messages that people would send later, and repeated deliveries, as waiting in the runtime',
  },
  {
    seed: 920_795_395,
    why: 'the clock was set while a coordinator answered: the judge took the team, whose tasks had ended in time, for late',
  },
  {
    seed: 933_895_276,
    why: 'an outcome named agents that the session had started and agents from outside in another order on a replay',
  },
  {
    seed: 7_688,
    why: 'context was taken after the budget had refused a first request: on a replay the refusal was worded differently',
  },
  {
    seed: 954,
    why: 'the judge of signals expected an answer to be taken at once although another one before it waited for a slot',
  },
  {
    seed: 994_254_253,
    why: 'an agent that had answered in JSON was cancelled while it waited for those it had spawned: the audit expected no output',
  },
  {
    seed: 41_997_234,
    why: 'the judge of questions: an answer sent again was told `allowed`, because what another one had allowed for the run covered it',
  },
];
