// The values of replies about live agents, for the OpenAPI document.
import { about, boolean, mapOf, named, oneOf, openObject } from '#base/shapes';
import {
  textOrNullShape as textOrNone,
  textShape as text,
  textsShape as texts,
  timeShape as time,
} from './value-shapes.ts';

export const liveAgentShape = named(
  'LivingAgent',
  openObject({
    cell: text,
    parent: textOrNone,
    agent: text,
    sub_agent_id: text,
    session_id: text,
    workflow_id: textOrNone,
    subscriptions: texts,
    metadata: mapOf(text),
    spawned_at: time,
    status: oneOf('waiting', 'running'),
    mailbox: about(boolean(), 'Whether it can receive messages.'),
  }),
);

export const startedAgentShape = named(
  'StartedAgent',
  openObject({
    run: text,
    cell: text,
    parent: text,
    sub_agent_id: text,
    session_id: text,
    status: oneOf('spawned', 'running'),
    subscribed_topics: texts,
  }),
);
