// One agent: what its file says, what it may use, and the whole frontmatter with every default.
import { formatAddress } from '../address.ts';
import { Part } from '../panes/task-detail.tsx';
import { mayAct, source } from '../state.ts';
import { CopyButton, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { budgetText } from '#headends/run-view';
import { isCall, listText } from './agent-facts.ts';
import type { AgentDetails, TopologyEdge } from './agent-facts.ts';

type AgentDetailProps = {
  readonly name: string;
  /** Undefined: only other agents call it. */
  readonly agent: AgentDetails | undefined;
  readonly edges: readonly TopologyEdge[];
};

export const AgentDetail = ({ name, agent, edges }: AgentDetailProps) => (
  <aside class="split-side detail" aria-label="Selected agent">
    <header class="detail-head">
      <h2>{name}</h2>
      <span class="muted">{agent?.team === true ? 'team' : 'agent'}</span>
      <span class="grow" />
      {agent === undefined || !mayAct.value ? null : (
        <a class="button small" href={formatAddress({ page: 'chat', agent: name })}>
          Chat with {name}
        </a>
      )}
    </header>
    <div class="detail-body">
      {agent?.description === undefined ? null : <p>{agent.description}</p>}
      {agent?.usage ? <p class="muted">“{agent.usage}”</p> : null}
      <Facts name={name} agent={agent} edges={edges} />
      {agent === undefined ? (
        <p class="muted small">Only other agents call it; its file belongs to theirs.</p>
      ) : (
        <Template key={name} agent={name} />
      )}
    </div>
  </aside>
);

const Facts = ({ name, agent, edges }: AgentDetailProps) => {
  const ends = (isIn: boolean, isWork: boolean): readonly string[] =>
    edges
      .filter((edge) => (isIn ? edge.to : edge.from) === name && isCall(edge) === isWork)
      .map(({ from, to }) => (isIn ? from : to));
  const facts = [
    ['Models', listText(agent?.models)],
    ['Tools', listText(agent?.tools)],
    ['Asks a person before', listText(agent?.approve)],
    ['Calls', listText(ends(false, true))],
    ['Called by', listText(ends(true, true))],
    ['May write to', listText(agent?.messages) || listText(ends(false, false))],
    ['Topics', listText(agent?.topics)],
    ['Budget', budgetText(agent?.budget ?? {})],
  ].filter(([, text]) => text !== '');
  return facts.length === 0 ? null : (
    <dl class="facts">
      {facts.map(([title, text]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
};

const Template = ({ agent }: { readonly agent: string }) => {
  const loaded = useLoaded(
    () => source.value.get<{ template: string | null }>(`/agents/${encodeURIComponent(agent)}/template`),
    [agent],
  );
  const template = loaded.value?.template ?? null;
  return (
    <Part title="Template: every key with its value, and where that comes from">
      {loaded.error === null ? null : <Problem error={loaded.error} />}
      {loaded.value !== null && template === null ? <p class="muted">It was not read from an agent file.</p> : null}
      {template === null ? null : (
        <div class="template">
          <pre tabIndex={0}>{template}</pre>
          <CopyButton text={() => template} label="Copy the template" />
        </div>
      )}
    </Part>
  );
};
