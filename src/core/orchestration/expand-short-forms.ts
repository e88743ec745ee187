// The short forms of agent files, in code: one item for a list, limits in either spelling, durations as text.
import { isObject } from '#base';
import type { Agent } from '#contracts';
import { limitSpellings, parseDuration } from '#core/registry';
import type { RejectField } from './option-shapes.ts';

type Options = Readonly<Record<string, unknown>>;

/** Whatever is not understood stays as it is, for the checks. */
export const expandShortForms = (options: Options, reject: RejectField): Options => {
  const expanded: Record<string, unknown> = { ...options };
  for (const key of lists) if (key in expanded) expanded[key] = toList(expanded[key]);
  for (const key of listsOrBlocks) if (typeof expanded[key] === 'string') expanded[key] = [expanded[key]];
  if ('gather' in expanded) expanded['gather'] = toGather(expanded['gather']);
  moveLimits(expanded, reject);
  moveSettings(expanded, reject);
  if ('spawns' in expanded) expanded['spawns'] = toSpawns(expanded['spawns'], expanded['agents']);
  return Object.fromEntries(Object.entries(expanded).filter(([, value]) => value !== undefined));
};

const listsOrBlocks = ['topics', 'approve'];

const lists = ['models', 'tools', 'skills', 'agents', 'grants', 'share', 'messages'];

const toList = (value: unknown): unknown => {
  if (value === null || value === undefined) return undefined;
  return Array.isArray(value) ? value : [value];
};

const toMs = (value: unknown): unknown => (typeof value === 'string' ? (parseDuration(value) ?? value) : value);

const toGather = (gather: unknown): unknown => {
  if (!isObject(gather)) return gather === undefined ? undefined : { timeoutMs: toMs(gather) };
  const { timeout, ...rest } = gather;
  return timeout === undefined ? gather : { ...rest, timeoutMs: toMs(timeout) };
};

/** At the top level too, as in files. */
const moveLimits = (options: Record<string, unknown>, reject: RejectField): void => {
  const { limits = {} } = options;
  if (!isObject(limits)) return;
  const found: Record<string, unknown> = {};
  const add = (written: string, value: unknown, field: string): void => {
    const name = limitSpellings.get(written) ?? written;
    if (name in found) reject(field, `one of the two: "${name}" is set twice`);
    found[name] = toLimit(written, name, value);
  };
  for (const [key, value] of Object.entries(limits)) if (value !== undefined) add(key, value, `limits.${key}`);
  for (const [key, value] of Object.entries(options)) {
    if (!limitSpellings.has(key)) continue;
    if (value !== undefined) add(key, value, key);
    delete options[key];
  }
  if (options['limits'] !== undefined || Object.keys(found).length > 0) options['limits'] = found;
};

const toLimit = (written: string, name: string, value: unknown): unknown => {
  if (name === 'parallelToolCalls' && typeof value === 'boolean') return value ? 4 : 1;
  if (written.toLowerCase().includes('bytes') && name === 'max_tokens_per_step' && typeof value === 'number')
    return Math.ceil(value / 4);
  return toMs(value);
};

const settingNames = ['temperature', 'topP', 'seed', 'reasoning'];

const moveSettings = (options: Record<string, unknown>, reject: RejectField): void => {
  const { settings = {} } = options;
  const flat = settingNames.filter((name) => name in options);
  if (flat.length === 0 || !isObject(settings)) return;
  const twice = flat.find((name) => settings[name] !== undefined);
  if (twice !== undefined) reject(twice, `one of the two: "settings.${twice}" is set too`);
  options['settings'] = { ...settings, ...Object.fromEntries(flat.map((name) => [name, options[name]])) };
  for (const name of flat) delete options[name];
};

/** A name is that of one of its sub-agents, or else of an agent that its Cloister has: `linkSpawns` looks for it. */
const toSpawns = (given: unknown, agents: unknown): unknown => {
  if (given === undefined || given === null) return given;
  const isBlock = isObject(given) && !('digest' in given);
  const { agents: list, grace, wait, on_end: onEnd, ...rest } = isBlock ? given : { agents: given };
  const known = Array.isArray(agents) ? (agents as readonly Partial<Agent>[]) : [];
  const find = (one: unknown): unknown =>
    typeof one !== 'string' || one === 'self'
      ? one
      : (known.find((agent) => isObject(agent) && agent.name === one) ?? one);
  const spawnable = toList(list);
  return {
    ...rest,
    ...(list === undefined ? {} : { agents: Array.isArray(spawnable) ? spawnable.map(find) : spawnable }),
    ...(grace === undefined ? {} : { graceMs: toMs(grace) }),
    ...(wait === undefined ? {} : { waitMs: toMs(wait) }),
    ...(onEnd === undefined ? {} : { onEnd }),
  };
};
